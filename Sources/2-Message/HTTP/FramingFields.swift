import Bytes

/// What the framing fields of one head say, gathered line by line: refused where they could be read in two ways.
struct FramingFields {
  private(set) var contentLength: Int?
  private(set) var isChunked = false

  /// Takes a `Content-Length` value: one field, digits only (RFC 9112 section 6.3; RFC 9110 section 8.6).
  mutating func takeContentLength(_ value: Span<UInt8>) -> HeadRefusal? {
    guard contentLength == nil else { return .contentLengthRepeated }
    guard let length = Self.decimal(value) else { return .contentLengthMalformed }
    contentLength = length
    return nil
  }

  /// Takes a `Transfer-Encoding` value: one field, `chunked` alone (RFC 9112 section 6.1).
  mutating func takeTransferEncoding(_ value: ByteRange, in bytes: Span<UInt8>) -> HeadRefusal? {
    guard !isChunked else { return .transferEncodingMalformed }
    var elements = ListElements(value)
    var otherCodings = false
    while let element = elements.next(in: bytes) {
      let coding = bytes.bytes(at: element)
      // Chunked is applied last and once; an empty element is nothing that a sender has to write.
      guard !isChunked, Self.beginsWithToken(coding) else { return .transferEncodingMalformed }
      if coding.equalsIgnoringCase("chunked") {
        isChunked = true
      } else {
        guard !Self.isChunkedWithParameters(coding) else { return .transferEncodingMalformed }
        otherCodings = true
      }
    }
    if elements.isMalformed { return .transferEncodingMalformed }
    return otherCodings ? .transferEncodingNotSupported : nil
  }

  /// Judges both together, at the end of the head.
  func conflict(isHTTP10: Bool) -> HeadRefusal? {
    guard isChunked else { return nil }
    if contentLength != nil { return .lengthAndTransferEncoding }
    return isHTTP10 ? .transferEncodingInHTTP10 : nil
  }

  /// The number that 1 to 19 digits and nothing else write.
  static func decimal(_ digits: Span<UInt8>) -> Int? {
    guard !digits.isEmpty, digits.count <= 19 else { return nil }
    var number = 0
    for index in digits.indices {
      guard ASCII.isDigit(digits[index]) else { return nil }
      let (product, overflowed) = number.multipliedReportingOverflow(by: 10)
      let (sum, carried) = product.addingReportingOverflow(Int(digits[index] - UInt8(ascii: "0")))
      if overflowed || carried { return nil }
      number = sum
    }
    return number
  }

  private static func beginsWithToken(_ coding: Span<UInt8>) -> Bool {
    Token.isToken(coding.extracting(first: tokenCount(coding))) && isParameterStart(coding, tokenCount(coding))
  }

  /// The chunked coding has no parameters (RFC 9112 section 7.1).
  private static func isChunkedWithParameters(_ coding: Span<UInt8>) -> Bool {
    coding.extracting(first: tokenCount(coding)).equalsIgnoringCase("chunked")
  }

  private static func tokenCount(_ coding: Span<UInt8>) -> Int {
    var count = 0
    while count < coding.count, Token.contains(coding[count]) { count += 1 }
    return count
  }

  private static func isParameterStart(_ coding: Span<UInt8>, _ start: Int) -> Bool {
    var index = start
    while index < coding.count, Token.isSpace(coding[index]) { index += 1 }
    return index == coding.count || coding[index] == UInt8(ascii: ";")
  }
}
