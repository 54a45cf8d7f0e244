/// Hexadecimal digits, as in percent escapes, chunk sizes and digests.
public enum Hexadecimal {
  /// The lower-case digit for `value`, which is below 16.
  @inlinable
  public static func digit(_ value: UInt8) -> UInt8 {
    value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
  }

  /// The upper-case digit for `value`, which is below 16.
  @inlinable
  public static func upperCaseDigit(_ value: UInt8) -> UInt8 {
    value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "A") + value - 10
  }

  /// The value of a digit in either case, nil for any other byte.
  @inlinable
  public static func value(_ digit: UInt8) -> UInt8? {
    switch digit {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
    default: nil
    }
  }

  /// `bytes` as lower-case digits, two a byte.
  public static func encode(_ bytes: Span<UInt8>) -> String {
    var digits = [UInt8]()
    digits.reserveCapacity(bytes.count * 2)
    for index in bytes.indices {
      digits.append(digit(bytes[index] >> 4))
      digits.append(digit(bytes[index] & 15))
    }
    return String(decoding: digits, as: UTF8.self)
  }

  /// The bytes that an even number of digits stands for; nil for anything else.
  public static func decode(_ digits: Span<UInt8>) -> [UInt8]? {
    guard digits.count % 2 == 0 else { return nil }
    var bytes = [UInt8]()
    bytes.reserveCapacity(digits.count / 2)
    var index = 0
    while index < digits.count {
      guard let high = value(digits[index]), let low = value(digits[index + 1]) else { return nil }
      bytes.append(high << 4 | low)
      index += 2
    }
    return bytes
  }
}
