/// Times as logs and people write them: RFC 3339, UTC.
public enum Timestamp {
  /// Such as `2026-11-30T09:00:00.123Z`.
  public static func text(unixNanoseconds: UInt64) -> String {
    let seconds = Int(unixNanoseconds / 1_000_000_000)
    let (year, month, day) = civilDate(days: seconds / 86_400)
    let second = seconds % 86_400
    func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
    let thousandths = Int(unixNanoseconds / 1_000_000 % 1_000)
    let fraction = thousandths < 10 ? "00\(thousandths)" : thousandths < 100 ? "0\(thousandths)" : "\(thousandths)"
    return "\(year)-\(two(month))-\(two(day))T\(two(second / 3600)):\(two(second / 60 % 60)):\(two(second % 60)).\(fraction)Z"
  }

  /// The date of a day counted from 1970-01-01. Years begin in March here, so that a leap day is the last of its year.
  package static func civilDate(days: Int) -> (year: Int, month: Int, day: Int) {
    let shifted = days + 719_468
    let era = shifted / 146_097
    let dayOfEra = shifted % 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let shiftedMonth = (5 * dayOfYear + 2) / 153
    let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
    return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * shiftedMonth + 2) / 5 + 1)
  }
}
