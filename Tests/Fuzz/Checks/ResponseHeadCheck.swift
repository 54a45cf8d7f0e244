import Bytes
import HTTP

/// Any split of an answer's bytes is judged alike, and what is taken means the same after it has been written for a client.
func checkResponseHead(_ bytes: [UInt8]) throws(Broken) {
  for method in [RequestMethod.get, .head] {
    for limits in [HeadLimits(), HeadLimits(headBytesMax: 160, startLineBytesMax: 48, fieldCountMax: 3)] {
      let head = ResponseHead()
      let outcome = head.parse(bytes.span, answering: method, limits: limits)
      try checkSplitAnswer(bytes, method, limits, outcome)
      guard case .complete(let count) = outcome else { continue }
      try require(count <= bytes.count && count <= limits.headBytesMax, "the head ends behind its bytes")
      guard let plain = PlainHead(Array(bytes[..<count])) else { throw Broken(description: "a head without its lines") }
      try checkFraming(head, method, plain)
      if head.isInterim { try checkInterim(head, plain) } else { try checkFinal(head, method, plain) }
    }
  }
}

private func checkSplitAnswer(_ bytes: [UInt8], _ method: RequestMethod, _ limits: HeadLimits, _ whole: HeadOutcome) throws(Broken) {
  let head = ResponseHead()
  var outcome = HeadOutcome.incomplete
  var seen: [UInt8] = []
  for piece in pieces(bytes) where outcome == .incomplete {
    seen += piece
    outcome = head.parse(seen.span, answering: method, limits: limits)
  }
  try requireEqual(outcome, whole, "a head in pieces is judged otherwise")
}

private func checkFraming(_ head: ResponseHead, _ method: RequestMethod, _ plain: PlainHead) throws(Broken) {
  try require(!plain.holdsControls, "a control was taken")
  try require((100...599).contains(head.status) && head.status != 101, "status \(head.status)")
  let lengths = plain.values("content-length")
  let codings = plain.values("transfer-encoding")
  try require(lengths.count + codings.count <= 1, "two framing fields were taken")
  let hasBody = method != .head && head.status >= 200 && head.status != 204 && head.status != 304
  switch head.framing {
  case .none: try require(!hasBody, "a body was overlooked")
  case .length(let length): try require(hasBody && lengths.first.flatMap { Int($0) } == length, "another length than is written")
  case .chunked: try require(hasBody && codings.first?.lowercased() == "chunked", "another coding than is written")
  case .untilClose: try require(hasBody && lengths.isEmpty && codings.isEmpty, "a framing field was overlooked")
  }
  if !hasBody, codings.count == 1 || lengths.contains(where: { Int($0) != 0 }) {
    // Such a connection rests before it is used again; a 204 may not announce a body at all.
    try require(head.announcesAbsentBody, "a body that must not come may be taken for the next answer")
    try require(head.status != 204 || !head.keepsAlive, "a 204 that announces a body keeps the connection")
  }
}

private func checkInterim(_ head: ResponseHead, _ original: PlainHead) throws(Broken) {
  var output = ByteQueue()
  head.writeInterim(to: &output)
  let written = output.copied()
  let again = ResponseHead()
  guard again.parse(written.span, answering: .get, limits: HeadLimits()) == .complete(byteCount: written.count),
    let plain = PlainHead(written)
  else { throw Broken(description: "was written as \(quoted(written))") }
  try requireEqual(again.status, head.status, "another status")
  try require(plain.isWithin(original), "a field that was not sent")
}

private func checkFinal(_ head: ResponseHead, _ method: RequestMethod, _ original: PlainHead) throws(Broken) {
  for version in [HTTPVersion.http11, .http10] {
    for isPrivate in [false, true] {
      let framing = head.framing(forClient: version)
      var output = ByteQueue()
      let form = AnswerForm(version: version, framing: framing, closes: false, isPrivate: isPrivate)
      head.writeDownstream(to: &output, form: form, changes: changes, date: date)
      output.appendEndOfHead()
      let written = output.copied()
      let again = ResponseHead()
      guard again.parse(written.span, answering: method, limits: writtenLimits) == .complete(byteCount: written.count),
        var plain = PlainHead(written)
      else { throw Broken(description: "was written as \(quoted(written))") }
      try requireEqual(again.status, head.status, "another status")
      try requireEqual(again.framing, framing, "another framing")
      if isPrivate { try checkPrivacy(plain) }
      plain.fields.removeAll { ownFields.contains($0.name) }
      try require(plain.isWithin(original), "a field that was not sent")
      for field in plain.fields {
        try require(!changes.names.contains(field.name.span), "\(quoted(field.name)) is passed on")
      }
    }
  }
}

private let date = HTTPDate(unixSeconds: 784_111_777)
private let changes = FieldChanges(set: [], remove: ["Server"]) ?? .none
private let ownFields = ["date", "connection", "content-length", "transfer-encoding", "cache-control"].map { Array($0.utf8) }
private let writtenLimits = HeadLimits(headBytesMax: 64 << 10, fieldCountMax: 128)

/// No shared cache keeps the answer, however it reads the field: the directive stands by itself, outside of any quotes.
private func checkPrivacy(_ plain: PlainHead) throws(Broken) {
  let directives = plain.values("cache-control").joined(separator: ",").lowercased().split(separator: ",")
    .map { $0.drop { $0 == " " || $0 == "\t" } }
  let isPrivate = directives.contains { directive in
    ["private", "no-store"].contains { directive.hasPrefix($0) && directive.dropFirst($0.count).allSatisfy { $0 == " " || $0 == "\t" } }
  }
  try require(isPrivate, "a shared cache may keep \(plain.values("cache-control"))")
  try require(plain.values("cdn-cache-control").isEmpty, "a field for one kind of cache overrules it")
}
