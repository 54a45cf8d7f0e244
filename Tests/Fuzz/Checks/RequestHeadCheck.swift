import Bytes
import HTTP

/// Any split of a request's bytes is judged alike; what is taken lies inside the input, is framed in one way only, and means the same
/// after it has been written for an upstream.
func checkRequestHead(_ bytes: [UInt8]) throws(Broken) {
  for limits in [HeadLimits(), HeadLimits(headBytesMax: 160, startLineBytesMax: 48, fieldCountMax: 3)] {
    let head = RequestHead()
    let outcome = head.parse(bytes.span, limits: limits)
    let meaning = RequestMeaning(head)
    try checkSplitRequest(bytes, limits, outcome, meaning)
    try checkRanges(head)
    guard case .complete(let count) = outcome else { continue }
    try require(count <= bytes.count && count <= limits.headBytesMax, "the head ends behind its bytes")
    guard let plain = PlainHead(Array(bytes[..<count])) else { throw Broken(description: "a head without its lines") }
    try checkFraming(head, plain)
    for policy in policies { try checkWritten(bytes, meaning, policy, plain) }
  }
}

private let policies = [
  FieldPolicy(underscores: .drop),
  FieldPolicy(underscores: .reject, inputs: FieldNameSet(["X-App-Assertion", "A"])),
  FieldPolicy(underscores: .keep, inputs: FieldNameSet(["X-App-Attest-Assertion", "A"]), keepsInputs: true),
  FieldPolicy(
    underscores: .keep, inputs: FieldNameSet(["A"]),
    changes: FieldChanges(set: [(name: "B", value: "set")], remove: ["C"]) ?? .none),
]

/// What one head says, as values.
private struct RequestMeaning: Equatable {
  var method: [UInt8]
  var target: [UInt8]
  var authority: [UInt8]?
  var host: [UInt8]?
  var version: HTTPVersion
  var form: TargetForm
  var framing: BodyFraming
  var keepsAlive: Bool
  var expectsContinue: Bool

  init(_ head: RequestHead) {
    func bytes(_ range: ByteRange) -> [UInt8] { head.withBytes { [UInt8](copying: $0.bytes(at: range)) } }
    method = bytes(head.methodRange)
    target = bytes(head.target)
    authority = head.authority.map(bytes)
    host = head.host.map(bytes)
    version = head.version
    form = head.targetForm
    framing = head.framing
    keepsAlive = head.keepsAlive
    expectsContinue = head.expectsContinue
  }
}

private func checkSplitRequest(
  _ bytes: [UInt8], _ limits: HeadLimits, _ whole: HeadOutcome, _ meaning: RequestMeaning
) throws(Broken) {
  let head = RequestHead()
  var outcome = HeadOutcome.incomplete
  var seen: [UInt8] = []
  for piece in pieces(bytes) where outcome == .incomplete {
    seen += piece
    outcome = head.parse(seen.span, limits: limits)
  }
  try requireEqual(outcome, whole, "a head in pieces is judged otherwise")
  try require(RequestMeaning(head) == meaning, "a head in pieces means something else")
}

private func checkRanges(_ head: RequestHead) throws(Broken) {
  let count = head.withBytes { $0.count }
  for range in [head.methodRange, head.targetAsSent, head.target, head.authority, head.host] {
    try require(range.map { isInside($0, count) } ?? true, "a range lies outside of the head")
  }
}

/// One `Host`, one way to find the body's end, no byte that another reader takes for a line's end.
private func checkFraming(_ head: RequestHead, _ plain: PlainHead) throws(Broken) {
  try require(!plain.holdsControls, "a control was taken")
  let hosts = plain.values("host").count
  try require(hosts == 1 || hosts == 0 && head.version == .http10, "\(hosts) Host fields were taken")
  let lengths = plain.values("content-length")
  let codings = plain.values("transfer-encoding")
  try require(lengths.count + codings.count <= 1, "two framing fields were taken")
  switch head.framing {
  case .none: try require(lengths.isEmpty && codings.isEmpty, "a framing field was overlooked")
  case .length(let length): try require(lengths.first.flatMap { Int($0) } == length, "another length than is written")
  case .chunked: try require(codings.first?.lowercased() == "chunked", "another coding than is written")
  case .untilClose: throw Broken(description: "a request's body that ends with the connection")
  }
}

private func checkWritten(_ bytes: [UInt8], _ meaning: RequestMeaning, _ policy: FieldPolicy, _ original: PlainHead) throws(Broken) {
  guard let written = write(bytes, policy) else { return }
  let again = RequestHead()
  guard again.parse(written.span, limits: writtenLimits) == .complete(byteCount: written.count), let plain = PlainHead(written) else {
    throw Broken(description: "was written as \(quoted(written))")
  }
  let after = RequestMeaning(again)
  try requireEqual(after.method, meaning.method, "another method")
  try requireEqual(after.target, meaning.target, "another target")
  try requireEqual(after.authority, meaning.authority ?? Array("upstream".utf8), "another authority")
  try requireEqual(after.framing, meaning.framing, "another framing")
  try requireEqual(after.version, .http11, "another version")
  try checkFields(plain, original, policy)
  // Written again it stays as it is, but for what the first writing has set.
  guard let twice = write(written, policy) else { throw Broken(description: "what was written is refused") }
  try require(twice == written || !policy.changes.names.isEmpty, "written again as \(quoted(twice))")
}

/// A head may grow by the framing's spelling and the upstream's fields.
private let writtenLimits = HeadLimits(headBytesMax: 64 << 10, startLineBytesMax: 16 << 10, fieldCountMax: 128)

private func write(_ bytes: [UInt8], _ policy: FieldPolicy) -> [UInt8]? {
  let head = RequestHead()
  guard case .complete = head.parse(bytes.span, limits: writtenLimits), head.prepareFields(policy) == nil else { return nil }
  var output = ByteQueue()
  head.writeUpstream(to: &output, host: .client(otherwise: Array("upstream".utf8)), framing: head.framing, changes: policy.changes)
  output.appendEndOfHead()
  return output.copied()
}

/// Every field that is passed on was sent, in that order; none is one that the gate answers for.
private func checkFields(_ written: PlainHead, _ original: PlainHead, _ policy: FieldPolicy) throws(Broken) {
  var passedOn = written
  passedOn.fields.removeAll { ownFields.contains($0.name) || policy.changes.names.contains($0.name.span) }
  try require(passedOn.isWithin(original), "a field that was not sent")
  for field in passedOn.fields {
    let name = String(decoding: field.name, as: UTF8.self)
    let plainName = String(name.map { $0.isLetter || $0.isNumber ? $0 : "-" })
    let isInput = policy.keepsInputs && policy.inputs.contains(field.name.span)
    try require(isInput || !plainName.hasPrefix("x-app-attest-"), "\(name) is passed on")
    try require(isInput || !policy.inputs.containsTwin(of: field.name.span), "\(name) is passed on")
    try require(!neverPassedOn.contains(plainName), "\(name) is passed on")
    try require(policy.underscores == .keep || !name.contains("_"), "\(name) is passed on")
  }
}

private let ownFields = ["host", "content-length", "transfer-encoding"].map { Array($0.utf8) }

private let neverPassedOn: Set<String> = [
  "connection", "keep-alive", "proxy-connection", "te", "trailer", "upgrade", "http2-settings", "proxy-authorization",
  "proxy-authenticate", "x-forwarded-for", "forwarded", "x-real-ip", "x-forwarded-host", "x-original-url", "x-rewrite-url", "expect",
]
