import AppAttest
import Bytes
import Cryptography
import FoundationEssentials

@testable import Gate

/// Client data that is taken means the same to another reader of JSON and after it has been written again.
func checkClientData(_ json: [UInt8]) throws(Broken) {
  let names: InlineArray<7, StaticString> = ["challenge", "method", "path", "query", "host", "bodySHA256", "keyId"]
  try checkMembers(names, json)
  guard let clientData = try? ClientData(json: json.span) else { return }
  guard let members = try? JSONObjectReader.members(names, of: json.span) else { throw Broken(description: "members are lost") }
  let written = write(names.indices.map { (names[$0], members[$0]?.decoded(in: json.span)) })
  // Escapes of controls take more room than the limit may leave.
  if written.count > ClientData.byteCountMax { return }
  guard let again = try? ClientData(json: written.span) else { throw Broken(description: "\(quoted(written)) is refused") }
  func strings(_ data: ClientData, _ json: [UInt8]) -> [[UInt8]?] {
    [data.challenge, data.method, data.path, data.query, data.host].map { $0?.decoded(in: json.span) }
  }
  let isSame =
    strings(again, written) == strings(clientData, json) && again.bodyDigest == clientData.bodyDigest
    && again.keyIdentifier == clientData.keyIdentifier
  try require(isSame, "was written as \(quoted(written)), which means something else")
}

/// The body of an enrolment that is taken means the same after it has been written again in another spelling.
func checkEnrolmentRequest(_ json: [UInt8]) throws(Broken) {
  try checkMembers(["key_id", "keyId", "attestation", "challenge"], json)
  guard let request = try? EnrolmentRequest(json) else { return }
  let written = write([
    ("keyId", Array(Base64.encodeURL(request.key.digest.bytes.span).utf8)),
    ("challenge", Array(Base64.encode(request.challenge.span).utf8)),
    ("attestation", Array(Base64.encode(request.attestation.span).utf8)),
  ])
  guard let again = try? EnrolmentRequest(written) else { throw Broken(description: "\(quoted(written)) is refused") }
  let isSame = again.key == request.key && again.challenge == request.challenge && again.attestation == request.attestation
  try require(isSame, "was written as \(quoted(written)), which means something else")
}

private func checkMembers<let count: Int>(_ names: InlineArray<count, StaticString>, _ json: [UInt8]) throws(Broken) {
  guard let values = try? JSONObjectReader.members(names, of: json.span) else { return }
  let other: [String: Loose]
  do {
    other = try JSONDecoder().decode([String: Loose].self, from: Data(json))
  } catch {
    throw Broken(description: "another reader of JSON refuses it: \(error)")
  }
  for index in names.indices {
    let (name, value) = (names[index], values[index]?.decoded(in: json.span))
    try require(value.map { String(validating: $0, as: UTF8.self) != nil } ?? true, "a value that is not UTF-8")
    guard case .text(let text)? = other[name.description] else {
      try require(value == nil, "another reader of JSON finds no text \(name)")
      continue
    }
    try require(value == Array(text.utf8), "another reader of JSON finds \(quoted(text.utf8)) in \(name)")
  }
}

/// A value of which only texts matter.
private enum Loose: Decodable {
  case text(String), other

  init(from decoder: any Decoder) throws {
    self = (try? decoder.singleValueContainer().decode(String.self)).map { .text($0) } ?? .other
  }
}

private func write(_ members: [(StaticString, [UInt8]?)]) -> [UInt8] {
  var output = ByteQueue()
  var separator: StaticString = "{"
  for case (let name, let value?) in members {
    output.append(separator)
    JSONText.append(Array(name.description.utf8).span, to: &output)
    output.append(" : ")
    JSONText.append(value.span, to: &output)
    separator = ", "
  }
  if output.isEmpty { output.append("{") }
  output.append("}\n")
  return output.copied()
}
