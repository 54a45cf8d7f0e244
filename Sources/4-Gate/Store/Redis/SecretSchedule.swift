/// Which sealing secrets there are on a day of Redis' clock: `secret:<day>`, made by whichever gate comes first (SET NX), so that all
/// gates hold the same without talking to each other.
///
/// Tomorrow's is made today: at midnight every gate already knows it, and no challenge is refused because another gate was faster.
struct SecretSchedule {
  static let daySeconds = 86_400
  /// A secret lives so much longer than the challenges that it sealed.
  private static let marginSeconds = 3_600

  let unixSeconds: Int
  let today: Int
  let previousDays: Int
  private let challengeSecondsMax: Int

  init(unixSeconds: Int, challengeSecondsMax: Int) {
    self.unixSeconds = unixSeconds
    let longest = min(max(challengeSecondsMax, 1), ChallengeSeal.timeToLiveSecondsMax)
    self.challengeSecondsMax = longest
    today = unixSeconds / Self.daySeconds
    previousDays = (longest - 1) / Self.daySeconds + 1
  }

  /// The days whose secrets are made when they are missing.
  var made: [Int] { [today, today + 1] }
  /// The days whose secrets open challenges.
  var read: [Int] { Array(today - previousDays...today + 1) }

  /// How long the secret of `day` is kept by Redis, from now on.
  func lifetimeSeconds(of day: Int) -> Int {
    (day + 1) * Self.daySeconds - unixSeconds + challengeSecondsMax + Self.marginSeconds
  }
}
