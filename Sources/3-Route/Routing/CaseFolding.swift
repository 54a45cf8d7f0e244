import Bytes

/// Text as a reader sees it that does not tell upper from lower case.
enum CaseFolding {
  /// The folded form of decoded bytes: two texts that some such reader takes for one have the same.
  ///
  /// Wider than any single reader's. Down, up and down again brings together what shares only one of its cases with a letter (`ſ` and
  /// `s`, the Kelvin sign and `k`, `ı` and `i`, `ß` and `ss`); the dot that `İ` leaves behind goes, and full-width letters and digits,
  /// which some servers take for the common ones, become them.
  static func folded(_ bytes: Span<UInt8>) -> [UInt8] {
    var isASCII = true
    var folded: [UInt8] = []
    folded.reserveCapacity(bytes.count)
    for index in bytes.indices {
      if bytes[index] >= 0x80 { isASCII = false }
      folded.append(ASCII.lowerCased(bytes[index]))
    }
    return isASCII ? folded : foldedText(String(decoding: folded, as: UTF8.self))
  }

  private static func foldedText(_ text: String) -> [UInt8] {
    var common = ""
    for scalar in text.lowercased().uppercased().lowercased().unicodeScalars where scalar != combiningDotAbove {
      common.unicodeScalars.append(isFullWidth(scalar) ? Unicode.Scalar(scalar.value - fullWidthOffset) ?? scalar : scalar)
    }
    return Array(common.lowercased().utf8)
  }

  private static let combiningDotAbove: Unicode.Scalar = "\u{307}"
  /// How far the forms of U+FF01 to U+FF5E lie above ASCII.
  private static let fullWidthOffset: UInt32 = 0xFEE0

  private static func isFullWidth(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0xFF10...0xFF19, 0xFF21...0xFF3A, 0xFF41...0xFF5A: true
    default: false
    }
  }
}
