/// Moments as people write them: RFC 3339 in UTC, for example `2026-04-21T18:13:12Z`.
public enum UTCTime {
  /// `unixSeconds` in that form.
  public static func text(_ unixSeconds: Int) -> String {
    let days = unixSeconds >= 0 ? unixSeconds / 86_400 : (unixSeconds - 86_399) / 86_400
    let second = unixSeconds - days * 86_400
    let (year, month, day) = date(days: days)
    func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
    return "\(year)-\(two(month))-\(two(day))T\(two(second / 3600)):\(two(second / 60 % 60)):\(two(second % 60))Z"
  }

  /// Seconds since 1970 of `text`, a fraction dropped; also a lone date, which is its midnight. Nil for anything else.
  public static func unixSeconds(_ text: String) -> Int? {
    var digits = Array(text.utf8)
    if digits.count == 10 { digits += Array("T00:00:00Z".utf8) }
    if digits.count > 20, digits[19] == UInt8(ascii: "."), digits.last == UInt8(ascii: "Z") {
      guard digits[20..<digits.count - 1].allSatisfy({ (0x30...0x39).contains($0) }), digits.count > 21 else { return nil }
      digits.replaceSubrange(19..<digits.count - 1, with: [])
    }
    let form = Array("0000-00-00T00:00:00Z".utf8)
    guard digits.count == form.count else { return nil }
    var numbers = [0]
    for (digit, expected) in zip(digits, form) {
      if expected != UInt8(ascii: "0") {
        guard digit == expected else { return nil }
        numbers.append(0)
      } else {
        guard (0x30...0x39).contains(digit) else { return nil }
        numbers[numbers.count - 1] = numbers[numbers.count - 1] * 10 + Int(digit - 0x30)
      }
    }
    let days = days(year: numbers[0], month: numbers[1], day: numbers[2])
    // A day that does not exist comes back as another one.
    guard (1...12).contains(numbers[1]), date(days: days) == (numbers[0], numbers[1], numbers[2]) else { return nil }
    guard numbers[3] < 24, numbers[4] < 60, numbers[5] < 60 else { return nil }
    return days * 86_400 + numbers[3] * 3600 + numbers[4] * 60 + numbers[5]
  }

  // The Gregorian calendar in years that begin in March, so that the leap day is a year's last; an era is 400 years of 146,097 days.

  private static func days(year: Int, month: Int, day: Int) -> Int {
    let shifted = month > 2 ? year : year - 1
    let era = (shifted >= 0 ? shifted : shifted - 399) / 400
    let yearOfEra = shifted - era * 400
    let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
    return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
  }

  private static func date(days: Int) -> (year: Int, month: Int, day: Int) {
    let shifted = days + 719_468
    let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
    let dayOfEra = shifted - era * 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let month = (5 * dayOfYear + 2) / 153
    let year = yearOfEra + era * 400 + (month >= 10 ? 1 : 0)
    return (year, month < 10 ? month + 3 : month - 9, dayOfYear - (153 * month + 2) / 5 + 1)
  }
}
