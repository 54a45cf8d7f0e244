/// What must hold for any input of one parser, and the name by which `scripts/fuzz` knows it.
///
/// A check throws what was broken; a trap or a sanitizer's report is a finding as well. What it does must depend on the input alone.
struct Fuzzer: Sendable {
  let name: String
  /// Longer inputs show nothing new.
  let inputBytesMax: Int
  let check: @Sendable ([UInt8]) throws(Broken) -> Void

  init(_ name: String, inputBytesMax: Int, _ check: @escaping @Sendable ([UInt8]) throws(Broken) -> Void) {
    self.name = name
    self.inputBytesMax = inputBytesMax
    self.check = check
  }

  /// In the order of a request's way.
  static let all: [Fuzzer] = [
    Fuzzer("proxy-header", inputBytesMax: 512, checkProxyHeader),
    Fuzzer("request-head", inputBytesMax: 2048, checkRequestHead),
    Fuzzer("forwarded-for", inputBytesMax: 512, checkForwardedFor),
    Fuzzer("response-head", inputBytesMax: 2048, checkResponseHead),
    Fuzzer("chunked", inputBytesMax: 1024, checkChunkedBody),
    Fuzzer("path", inputBytesMax: 512, checkPath),
    Fuzzer("client-data", inputBytesMax: 1024, checkClientData),
    Fuzzer("enrolment", inputBytesMax: 1024, checkEnrolmentRequest),
    Fuzzer("base64", inputBytesMax: 256, checkBase64),
    Fuzzer("challenge", inputBytesMax: 256, checkChallenge),
    Fuzzer("cbor", inputBytesMax: 1024, checkCBOR),
    Fuzzer("attestation", inputBytesMax: 8192, checkAttestation),
    Fuzzer("assertion", inputBytesMax: 1024, checkAssertion),
    Fuzzer("redis", inputBytesMax: 1024, checkRedisReplies),
    Fuzzer("yaml", inputBytesMax: 2048, checkConfiguration),
  ]

  static func named(_ name: String) -> Fuzzer? { all.first { $0.name == name } }
}

/// A promise that an input broke.
struct Broken: Error, CustomStringConvertible {
  let description: String
}

/// Goes on only where `condition` holds.
func require(_ condition: Bool, _ promise: @autoclosure () -> String) throws(Broken) {
  if !condition { throw Broken(description: promise()) }
}

/// Goes on only where both are equal.
func requireEqual<Value: Equatable>(_ left: Value, _ right: Value, _ promise: @autoclosure () -> String) throws(Broken) {
  if left != right { throw Broken(description: "\(promise()): \(left) and \(right)") }
}
