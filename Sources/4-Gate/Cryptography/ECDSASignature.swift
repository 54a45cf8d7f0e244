import Bytes

/// A P-256 signature as X.509 writes it: `SEQUENCE { r INTEGER, s INTEGER }` (RFC 3279 section 2.2.3), in DER and nothing but DER.
///
/// High S is accepted: about a third of the signatures of real devices have it.
struct ECDSASignature {
  let r: P256Scalar
  let s: P256Scalar

  /// 2 + 2 × (2 + 33): two integers of 32 bytes with a leading zero each.
  static let derBytesMax = 72

  init(r: P256Scalar, s: P256Scalar) {
    self.r = r
    self.s = s
  }

  /// Nil for anything that is not the one encoding of a pair in [1, n − 1]: longer forms, negative or padded integers, bytes left over.
  init?(der: Span<UInt8>) {
    guard der.count >= 2, der.count <= Self.derBytesMax, der[0] == 0x30, Int(der[1]) == der.count - 2 else { return nil }
    guard let first = Self.integer(in: der, at: 2), let second = Self.integer(in: der, at: first.end), second.end == der.count else {
      return nil
    }
    guard let r = P256Scalar(integer: der.bytes(at: first)), let s = P256Scalar(integer: der.bytes(at: second)) else { return nil }
    self.r = r
    self.s = s
  }

  /// The DER form, 8 to 72 bytes.
  var der: [UInt8] {
    var content = [UInt8]()
    for scalar in [r, s] {
      let bytes = scalar.bytes
      // A scalar is not zero, so the search ends.
      var start = 0
      while bytes[start] == 0 { start += 1 }
      let padding = bytes[start] >= 0x80 ? 1 : 0
      content.append(0x02)
      content.append(UInt8(32 - start + padding))
      if padding == 1 { content.append(0) }
      for index in start..<32 { content.append(bytes[index]) }
    }
    return [0x30, UInt8(content.count)] + content
  }

  /// Where the content of the INTEGER at `start` lies; every length of interest is below 128 and so one byte.
  private static func integer(in der: Span<UInt8>, at start: Int) -> ByteRange? {
    guard start + 2 <= der.count, der[start] == 0x02, der[start + 1] <= 33 else { return nil }
    let content = ByteRange(start: start + 2, count: Int(der[start + 1]))
    return content.end <= der.count ? content : nil
  }
}
