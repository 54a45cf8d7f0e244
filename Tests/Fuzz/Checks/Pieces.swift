import Bytes

/// `bytes` cut at places that follow from the bytes: pieces as a network would bring them, the same ones each time.
func pieces(_ bytes: [UInt8]) -> [[UInt8]] {
  var state = bytes.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
  var pieces: [[UInt8]] = []
  var rest = bytes[...]
  // Nothing comes as one piece too.
  guard !bytes.isEmpty else { return [[]] }
  while !rest.isEmpty {
    state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
    let piece = rest.prefix(1 + Int(state >> 33) % 40)
    pieces.append(Array(piece))
    rest = rest.dropFirst(piece.count)
  }
  return pieces
}

/// The bytes in quotes, with escapes for what is not visible.
func quoted(_ bytes: some Sequence<UInt8>) -> String {
  var output = ByteQueue()
  JSONText.append(Array(bytes).span, to: &output)
  return String(decoding: output.copied(), as: UTF8.self)
}

func isInside(_ range: ByteRange, _ count: Int) -> Bool { range.start >= 0 && range.count >= 0 && range.end <= count }
