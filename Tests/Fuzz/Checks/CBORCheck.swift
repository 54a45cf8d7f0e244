import AppAttest
import Bytes

/// One value has one encoding: what is decoded is encoded to the very bytes it came from, and none of them can be left out.
func checkCBOR(_ bytes: [UInt8]) throws(Broken) {
  let whole = try? CBOR.decode(bytes.span)
  guard let (item, end) = try? CBOR.decodePrefix(of: bytes.span, from: 0) else {
    try require(whole == nil, "a prefix is refused and the whole is not")
    return
  }
  try require(end > 0 && end <= bytes.count, "the item ends outside of its bytes")
  let encoded = CBORWriting.encoded(item, of: bytes)
  try require(encoded == Array(bytes[..<end]), "is encoded as \(quoted(encoded))")
  try require((whole == item) == (end == bytes.count), "bytes behind an item are taken, or an item without any is not")
  try require((try? CBOR.decode(bytes.span.extracting(first: end - 1))) == nil, "a part of an item is taken")
  if bytes.count > 1 {
    guard let (moved, movedEnd) = try? CBOR.decodePrefix(of: ([0] + bytes).span, from: 1) else {
      throw Broken(description: "is refused elsewhere")
    }
    try require(movedEnd == end + 1 && CBORWriting.encoded(moved, of: [0] + bytes) == encoded, "is another item elsewhere")
  }
}
