public import Bytes

/// Frames bytes as chunks (RFC 9112 section 7.1); a chunk of no bytes would end the body, so none is written for them.
public enum ChunkedEncoder {
  /// Appends one chunk.
  public static func append(_ data: Span<UInt8>, to output: inout ByteQueue) {
    guard !data.isEmpty else { return }
    output.append(hexadecimal: data.count)
    output.append("\r\n")
    output.append(data)
    output.append("\r\n")
  }

  /// Appends the last chunk and the end of the body, without trailers.
  public static func appendEnd(to output: inout ByteQueue) {
    output.append("0\r\n\r\n")
  }
}
