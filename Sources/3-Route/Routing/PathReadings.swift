import Bytes

extension RequestPath {
  /// The other paths that an upstream may take this one for, in the form that the router matches: with encoded slashes and
  /// backslashes as separators, decoded twice and more, each ended at an encoded `?` or `#`, and each with its parameters (`;x`) stripped.
  func otherReadings(of normalForm: Span<UInt8>) -> [[UInt8]] {
    if features.isEmpty { return [] }
    var readings = [PathPattern.matchingForm(normalForm)]
    var layer = Self.decodedOnce(normalForm)
    for _ in 0..<PathScanner.layersMax {
      readings.append(layer.map { $0 == UInt8(ascii: "\\") ? UInt8(ascii: "/") : $0 })
      let next = Self.decodedOnce(layer.span)
      if next.count == layer.count { break }
      layer = next
    }
    if features.contains(.encodedDelimiter) { readings += readings.map(Self.upToDelimiter) }
    if features.contains(.semicolon) { readings += readings.map(Self.withoutParameters) }
    return readings
  }

  private static func upToDelimiter(_ path: [UInt8]) -> [UInt8] {
    Array(path.prefix { $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") })
  }

  private static func withoutParameters(_ path: [UInt8]) -> [UInt8] {
    var stripped: [UInt8] = []
    stripped.reserveCapacity(path.count)
    var isInParameters = false
    for byte in path {
      if byte == UInt8(ascii: "/") { isInParameters = false }
      if byte == UInt8(ascii: ";") { isInParameters = true }
      if !isInParameters { stripped.append(byte) }
    }
    return stripped
  }
}
