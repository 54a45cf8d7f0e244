import Bytes

/// A date as `Date` fields have it (IMF-fixdate, RFC 9110 section 5.6.7): made once a second, used for all answers of that second.
public struct HTTPDate: Sendable {
  /// Seconds since 1970-01-01 00:00:00 UTC.
  public let unixSeconds: Int
  /// 29 bytes, such as `Sun, 06 Nov 1994 08:49:37 GMT`.
  public let text: [UInt8]

  /// The date of a time from 1970 to 9999; others are brought to the nearer end.
  public init(unixSeconds: Int) {
    let seconds = min(max(unixSeconds, 0), 253_402_300_799)
    self.unixSeconds = unixSeconds
    let days = seconds / 86_400
    let second = seconds % 86_400
    let (year, month, day) = Self.civilDate(days: days)
    var text = ByteQueue()
    // 1 January 1970 was a Thursday.
    text.append(Self.weekdays[(days + 4) % 7])
    text.append(", ")
    Self.append(day, to: &text)
    text.append(UInt8(ascii: " "))
    text.append(Self.months[month - 1])
    text.append(UInt8(ascii: " "))
    Self.append(year / 100, to: &text)
    Self.append(year % 100, to: &text)
    text.append(UInt8(ascii: " "))
    Self.append(second / 3600, to: &text)
    text.append(UInt8(ascii: ":"))
    Self.append(second / 60 % 60, to: &text)
    text.append(UInt8(ascii: ":"))
    Self.append(second % 60, to: &text)
    text.append(" GMT")
    self.text = text.copied()
  }

  private static let weekdays: [StaticString] = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
  private static let months: [StaticString] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

  private static func append(_ twoDigits: Int, to text: inout ByteQueue) {
    text.append(UInt8(ascii: "0") + UInt8(twoDigits / 10))
    text.append(UInt8(ascii: "0") + UInt8(twoDigits % 10))
  }

  /// The proleptic Gregorian date of a day counted from 1970-01-01; years begin in March here, so that a leap day is the last of its year.
  private static func civilDate(days: Int) -> (year: Int, month: Int, day: Int) {
    let shifted = days + 719_468
    let era = shifted / 146_097
    let dayOfEra = shifted % 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let shiftedMonth = (5 * dayOfYear + 2) / 153
    let day = dayOfYear - (153 * shiftedMonth + 2) / 5 + 1
    let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
    return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, day)
  }
}
