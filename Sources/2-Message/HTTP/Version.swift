import Bytes

/// The versions that are spoken here (RFC 9112 section 2.3).
///
/// HTTP/1.2 and above are refused like HTTP/2: nobody sends them but to find servers that disagree.
public enum HTTPVersion: Sendable, Equatable {
  case http10, http11

  /// The version that exactly eight bytes name, or why they name none.
  static func parse(_ text: Span<UInt8>) -> Result<HTTPVersion, VersionFault> {
    if text.equals("HTTP/1.1") { return .success(.http11) }
    if text.equals("HTTP/1.0") { return .success(.http10) }
    let isVersion =
      text.count == 8 && text.extracting(first: 5).equals("HTTP/") && ASCII.isDigit(text[5]) && text[6] == UInt8(ascii: ".")
      && ASCII.isDigit(text[7])
    return .failure(isVersion ? .notSupported : .malformed)
  }
}

/// Why a version is not taken.
enum VersionFault: Error {
  case malformed, notSupported
}
