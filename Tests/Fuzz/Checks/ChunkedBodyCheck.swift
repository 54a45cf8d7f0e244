import Bytes
import HTTP

/// Any split of a chunked body decodes alike, to what a plain reading of RFC 9112 section 7.1 gives; and what is encoded is decoded.
func checkChunkedBody(_ bytes: [UInt8]) throws(Broken) {
  for limits in [HeadLimits(), HeadLimits(headBytesMax: 64, fieldCountMax: 2)] {
    let whole = try decode(.chunked, [bytes], limits)
    let cuts = [pieces(bytes), bytes.isEmpty ? [[]] : bytes.map { [$0] }]
    for cut in cuts { try require(try decode(.chunked, cut, limits) == whole, "a body in pieces is decoded otherwise") }
    if case .end = whole.end {
      guard let plain = PlainChunks(bytes) else { throw Broken(description: "a body was taken that is not chunked") }
      try requireEqual(whole.content, plain.content, "other content")
      try requireEqual(whole.consumed, plain.byteCount, "another end")
    }
  }
  try checkEncoding(bytes)
  for count in [0, bytes.count / 2, bytes.count, bytes.count + 1] {
    let whole = try decode(.length(count), [bytes])
    try require(try decode(.length(count), pieces(bytes)) == whole, "a body in pieces is decoded otherwise")
    try requireEqual(whole.content, Array(bytes.prefix(count)), "other content")
  }
}

private struct DecodedBody: Equatable {
  var content: [UInt8] = []
  var consumed = 0
  var end = BodyEvent.needMore(consumed: 0)
}

/// Feeds `pieces` as a connection does: what is not consumed is offered again with the next piece.
private func decode(_ framing: BodyFraming, _ pieces: [[UInt8]], _ limits: HeadLimits = HeadLimits()) throws(Broken) -> DecodedBody {
  var decoder = BodyDecoder(framing, limits: limits)
  var body = DecodedBody()
  for piece in pieces {
    var rest = piece
    reading: while true {
      let event = decoder.next(in: rest.span)
      switch event {
      case .data(let range, let consumed):
        try require(isInside(range, rest.count) && range.end == consumed && range.count > 0, "content lies outside of the input")
        body.content += rest[range.start..<range.end]
        body.consumed += consumed
        rest.removeFirst(consumed)
      case .needMore(let consumed):
        try require(consumed == rest.count, "bytes were left though more are wanted")
        body.consumed += consumed
        break reading
      case .end(let consumed):
        try require(consumed <= rest.count && decoder.hasEnded, "the body ends behind the input")
        body.consumed += consumed
        body.end = .end(consumed: 0)
        return body
      case .malformed:
        body.end = event
        // Where a fault shows does not depend on the pieces, but what had been consumed before it does.
        body.consumed = 0
        return body
      }
    }
  }
  return body
}

private func checkEncoding(_ content: [UInt8]) throws(Broken) {
  var output = ByteQueue()
  for piece in pieces(content) { ChunkedEncoder.append(piece.span, to: &output) }
  ChunkedEncoder.appendEnd(to: &output)
  let encoded = output.copied()
  let body = try decode(.chunked, [encoded])
  try requireEqual(body, DecodedBody(content: content, consumed: encoded.count, end: .end(consumed: 0)), "encoded and decoded")
}

/// A chunked body read with no thought for malice.
private struct PlainChunks {
  var content: [UInt8] = []
  var byteCount = 0

  init?(_ bytes: [UInt8]) {
    var rest = bytes[...]
    func line() -> ArraySlice<UInt8>? {
      guard let end = zip(rest.indices, rest.indices.dropFirst()).first(where: { rest[$0] == 13 && rest[$1] == 10 })?.0 else { return nil }
      defer { rest = rest[(end + 2)...] }
      return rest[..<end]
    }
    while true {
      guard let sizeLine = line() else { return nil }
      let digits = sizeLine.prefix { $0 != UInt8(ascii: ";") && $0 != 0x20 && $0 != 0x09 }
      guard let size = Int(String(decoding: digits, as: UTF8.self), radix: 16), digits.first != UInt8(ascii: "-"),
        digits.first != UInt8(ascii: "+")
      else { return nil }
      if size == 0 { break }
      guard rest.count >= size + 2 else { return nil }
      content += rest.prefix(size)
      guard rest.dropFirst(size).prefix(2) == [13, 10] else { return nil }
      rest = rest.dropFirst(size + 2)
    }
    repeat {
      guard let trailer = line() else { return nil }
      if trailer.isEmpty { break }
    } while true
    byteCount = rest.startIndex
  }
}
