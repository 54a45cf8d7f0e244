import AppAttest
import Bytes

/// Whatever is encoded is decoded; whatever is decoded is one of the four spellings that its bytes have, and no fifth.
func checkBase64(_ bytes: [UInt8]) throws(Broken) {
  for spelling in spellings(bytes) {
    try require(Base64.decode(spelling.span, maximum: bytes.count) == bytes, "\(quoted(spelling)) is decoded to something else")
    let isBounded = bytes.isEmpty || Base64.decode(spelling.span, maximum: bytes.count - 1) == nil
    try require(isBounded, "more is decoded than was allowed")
  }
  if let decoded = Base64.decode(bytes.span, maximum: bytes.count) {
    try require(spellings(decoded).contains(bytes), "\(quoted(bytes)) is no spelling of what it is decoded to")
  }
  try require(Hexadecimal.decode(Array(Hexadecimal.encode(bytes.span).utf8).span) == bytes, "hexadecimal digits are decoded otherwise")
  if let decoded = Hexadecimal.decode(bytes.span) {
    let digits = Hexadecimal.encode(decoded.span)
    try require(digits == String(decoding: bytes, as: UTF8.self).lowercased(), "other hexadecimal digits")
  }
  if let key = KeyIdentifier(base64: bytes.span) {
    try require(KeyIdentifier(base64: Array(key.base64.utf8).span) == key, "a key identifier reads otherwise when written")
  }
}

private func spellings(_ bytes: [UInt8]) -> [[UInt8]] {
  let standard = Base64.encode(bytes.span)
  let url = Base64.encodeURL(bytes.span)
  let padding = String(repeating: "=", count: (4 - url.utf8.count % 4) % 4)
  return [standard, standard.filter { $0 != "=" }, url, url + padding].map { Array($0.utf8) }
}
