import Bytes

/// The chunked coding (RFC 9112 section 7.1), byte by byte outside of data, so that no split of the input can matter.
struct ChunkedDecoder: Sendable {
  private enum State {
    case size, beforeExtension, `extension`, sizeEnd
    case data, dataEnd, dataLineEnd
    case trailerStart, trailerName, trailerValue, trailerLineEnd, lastLineEnd
    case ended
  }

  private static let sizeDigitsMax = 16
  private static let extensionBytesMax = 256
  private static let extensionBytesTotalMax = 4 << 10

  private let trailerBytesMax: Int
  private let trailerCountMax: Int
  private var state = State.size
  private var size = 0
  private var sizeDigits = 0
  private var extensionBytes = 0
  private var extensionBytesTotal = 0
  private var trailerBytes = 0
  private var trailerCount = 0

  init(trailerBytesMax: Int, trailerCountMax: Int) {
    self.trailerBytesMax = trailerBytesMax
    self.trailerCountMax = trailerCountMax
  }

  var hasEnded: Bool { state == .ended }

  mutating func next(in bytes: Span<UInt8>) -> BodyEvent {
    var index = 0
    while index < bytes.count {
      switch state {
      case .ended: return .end(consumed: index)
      case .data:
        let count = min(size, bytes.count - index)
        size -= count
        if size == 0 { state = .dataEnd }
        return .data(ByteRange(start: index, count: count), consumed: index + count)
      case .size, .beforeExtension, .extension, .sizeEnd, .dataEnd, .dataLineEnd:
        if let fault = takeSizeLine(bytes[index]) { return .malformed(fault) }
      case .trailerStart, .trailerName, .trailerValue, .trailerLineEnd, .lastLineEnd:
        if let fault = takeTrailer(bytes[index]) { return .malformed(fault) }
      }
      index += 1
    }
    return hasEnded ? .end(consumed: index) : .needMore(consumed: index)
  }

  /// Takes a byte between the data of two chunks.
  private mutating func takeSizeLine(_ byte: UInt8) -> BodyFault? {
    switch state {
    case .dataEnd:
      guard byte == 0x0D else { return .chunkNotTerminated }
      state = .dataLineEnd
    case .dataLineEnd:
      guard byte == 0x0A else { return .chunkNotTerminated }
      state = .size
      sizeDigits = 0
    case .size: return takeSize(byte)
    case .beforeExtension:
      // White space is for extensions only: padded sizes are not repaired.
      if byte == UInt8(ascii: ";") { state = .extension } else if !Token.isSpace(byte) { return .chunkSizeMalformed }
      return countExtensionByte()
    case .extension:
      if byte == 0x0D {
        state = .sizeEnd
        return nil
      }
      guard byte >= 0x20 && byte != 0x7F || byte == 0x09 else { return .chunkExtensionMalformed }
      return countExtensionByte()
    default:
      guard byte == 0x0A else { return .chunkSizeMalformed }
      state = size == 0 ? .trailerStart : .data
      extensionBytes = 0
    }
    return nil
  }

  private mutating func takeSize(_ byte: UInt8) -> BodyFault? {
    if let digit = Hexadecimal.value(byte) {
      if sizeDigits == 0 { size = 0 }
      sizeDigits += 1
      guard sizeDigits <= Self.sizeDigitsMax else { return .chunkSizeMalformed }
      guard size <= Int.max >> 4 else { return .chunkSizeTooLarge }
      size = size << 4 | Int(digit)
      return nil
    }
    guard sizeDigits > 0 else { return .chunkSizeMalformed }
    switch byte {
    case 0x0D: state = .sizeEnd
    case UInt8(ascii: ";"):
      state = .extension
      return countExtensionByte()
    case 0x20, 0x09:
      state = .beforeExtension
      return countExtensionByte()
    default: return .chunkSizeMalformed
    }
    return nil
  }

  private mutating func countExtensionByte() -> BodyFault? {
    extensionBytes += 1
    extensionBytesTotal += 1
    let isOver = extensionBytes > Self.extensionBytesMax || extensionBytesTotal > Self.extensionBytesTotalMax
    return isOver ? .chunkExtensionsTooLong : nil
  }

  /// Takes a byte behind the last chunk: field lines as in a head, and an empty line.
  private mutating func takeTrailer(_ byte: UInt8) -> BodyFault? {
    trailerBytes += 1
    guard trailerBytes <= trailerBytesMax else { return .trailersTooLarge }
    switch state {
    case .trailerStart:
      if byte == 0x0D {
        state = .lastLineEnd
        return nil
      }
      guard Token.contains(byte) else { return .trailerMalformed }
      trailerCount += 1
      guard trailerCount <= trailerCountMax else { return .trailersTooLarge }
      state = .trailerName
    case .trailerName:
      if byte == UInt8(ascii: ":") { state = .trailerValue } else if !Token.contains(byte) { return .trailerMalformed }
    case .trailerValue:
      if byte == 0x0D {
        state = .trailerLineEnd
      } else if byte < 0x20 && byte != 0x09 || byte == 0x7F {
        return .trailerMalformed
      }
    default:
      guard byte == 0x0A else { return .trailerMalformed }
      state = state == .lastLineEnd ? .ended : .trailerStart
    }
    return nil
  }
}
