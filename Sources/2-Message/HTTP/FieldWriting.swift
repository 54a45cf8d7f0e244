public import Bytes

extension ByteQueue {
  /// Appends one field line. The gate's own values hold no controls; one that came in from outside would be written as a space,
  /// so that no value can end the line.
  public mutating func appendField(_ name: StaticString, _ value: Span<UInt8>) {
    append(name)
    append(": ")
    if value.firstControl(from: 0, to: value.count) == value.count {
      append(value)
    } else {
      for index in value.indices { append(value[index] < 0x20 || value[index] == 0x7F ? 0x20 : value[index]) }
    }
    append("\r\n")
  }

  /// Appends one field line, as ``appendField(_:_:)-(StaticString,Span<UInt8>)`` does.
  public mutating func appendField(_ name: StaticString, _ value: [UInt8]) { appendField(name, value.span) }

  /// Appends one field line with a number.
  public mutating func appendField(_ name: StaticString, decimal number: Int) {
    append(name)
    append(": ")
    append(decimal: number)
    append("\r\n")
  }

  /// Appends the empty line that ends a head.
  public mutating func appendEndOfHead() { append("\r\n") }

  /// Appends the one framing field that `framing` needs, if it needs one.
  mutating func appendFraming(_ framing: BodyFraming) {
    switch framing {
    case .none, .untilClose: break
    case .length(let count): appendField("Content-Length", decimal: count)
    case .chunked: append("Transfer-Encoding: chunked\r\n")
    }
  }
}

extension Span where Element == UInt8 {
  /// Number of commas, each of which begins another entry of a list.
  var countOfCommas: Int {
    var commas = 0
    for index in indices where self[index] == UInt8(ascii: ",") { commas += 1 }
    return commas
  }
}
