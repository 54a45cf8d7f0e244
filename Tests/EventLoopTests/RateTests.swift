import Testing

@testable import EventLoop

@Suite struct RateTests {
  private func at(_ milliseconds: Int) -> Instant { Instant(nanoseconds: 5_000_000_000).advanced(byMilliseconds: milliseconds) }

  @Test func aBucketGivesItsBurstAtOnceAndThenOneAnInterval() {
    let rate = Rate(10, per: .second, burst: 3)
    var bucket = TokenBucket()
    for _ in 0..<3 { #expect(bucket.take(rate, now: at(0)) == nil) }
    #expect(bucket.take(rate, now: at(0)) == 100_000_000)
    #expect(bucket.take(rate, now: at(40)) == 60_000_000)
    #expect(bucket.take(rate, now: at(100)) == nil)
    #expect(bucket.take(rate, now: at(100)) == 100_000_000)
    // After a pause there is a burst again, and no more than that.
    for _ in 0..<3 { #expect(bucket.take(rate, now: at(60_000)) == nil) }
    #expect(bucket.take(rate, now: at(60_000)) != nil)
  }

  @Test func whatIsRefusedTakesNothing() {
    let rate = Rate(1, per: .second, burst: 1)
    var bucket = TokenBucket()
    #expect(bucket.take(rate, now: at(0)) == nil)
    for step in 0..<1_000 { #expect(bucket.take(rate, now: at(step)) != nil) }
    #expect(bucket.take(rate, now: at(1_000)) == nil)
  }

  @Test func overAnyTimeABucketGivesAtMostBurstAndRate() {
    let rate = Rate(600, per: .minute, burst: 20)
    var bucket = TokenBucket()
    let taken = (0..<30_000).count { bucket.take(rate, now: at($0)) == nil }
    #expect(taken == 20 + 299)
  }

  @Test(arguments: Rate.Period.allCases)
  func theBoundsOfARateDoNotOverflow(period: Rate.Period) {
    for (count, burst) in [(1, Rate.countMax), (Rate.countMax, 1), (Rate.countMax, Rate.countMax), (1, 1)] {
      let rate = Rate(count, per: period, burst: burst)
      var bucket = TokenBucket()
      #expect(bucket.take(rate, now: Instant(nanoseconds: .max / 2)) == nil)
      for _ in 0..<10 { _ = bucket.take(rate, now: Instant(nanoseconds: .max / 2)) }
    }
  }

  @Test(arguments: [
    ("10.1.2.3", "10.1.2.3", true), ("10.1.2.3", "10.1.2.4", false), ("::ffff:10.1.2.3", "10.1.2.3", true),
    ("2001:db8:1:2::1", "2001:db8:1:2:ffff::9", true), ("2001:db8:1:2::1", "2001:db8:1:3::1", false), ("::1", "0.0.0.0", false),
  ])
  func anIPv6SubscriberIsOneClientAndSoIsAnIPv4Address(left: String, right: String, isSame: Bool) throws {
    let first = try #require(SocketAddress(host: left, port: 1).flatMap(ClientNetwork.init))
    let second = try #require(SocketAddress(host: right, port: 2).flatMap(ClientNetwork.init))
    #expect((first == second) == isSame)
  }

  @Test func aUnixSocketHasNoNetwork() throws {
    #expect(ClientNetwork(try #require(SocketAddress(unixPath: "/tmp/socket"))) == nil)
  }
}
