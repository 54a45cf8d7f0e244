import Bytes
import HTTP

/// Compares what the client data says of a request with the request itself (wire.md, step 2 of the order of checks; the body is step 7).
///
/// Every member that is present is compared, whether or not the route demands it.
enum Bindings {
  /// Why the client data is about another request.
  struct Failure: Equatable {
    var code: ProblemCode
    var detail: String
  }

  /// The first member that is missing or differs; nil when the head is the one that was signed.
  ///
  /// `json` is what the client data was read from.
  static func compare(
    _ clientData: ClientData, in json: Span<UInt8>, with facts: RequestFacts, under policy: SharedPolicy
  ) -> Failure? {
    if let failure = compareMethod(clientData, json, facts, policy) { return failure }
    if let failure = comparePath(clientData, json, facts, policy) { return failure }
    if let failure = compareQuery(clientData, json, facts, policy) { return failure }
    if let failure = compareHost(clientData, json, facts, policy) { return failure }
    return demandBody(clientData, policy)
  }

  private static func compareMethod(
    _ clientData: ClientData, _ json: Span<UInt8>, _ facts: RequestFacts, _ policy: SharedPolicy
  ) -> Failure? {
    guard let method = clientData.method else {
      return policy.binding.contains(.method)
        ? Failure(code: .methodMismatch, detail: "The client data lacks method, which this route demands.") : nil
    }
    return method.equals(facts.head.bytes(at: facts.method), in: json)
      ? nil : Failure(code: .methodMismatch, detail: "The client data was signed for another method.")
  }

  private static func comparePath(
    _ clientData: ClientData, _ json: Span<UInt8>, _ facts: RequestFacts, _ policy: SharedPolicy
  ) -> Failure? {
    guard let path = clientData.path else {
      return policy.binding.contains(.path)
        ? Failure(code: .pathMismatch, detail: "The client data lacks path, which this route demands.") : nil
    }
    let matches =
      switch policy.pathForm {
      case .decoded: isDecodedPath(path.bytes(in: json), of: facts.normalPath)
      case .encoded: path.equals(facts.head.bytes(at: facts.rawPath), in: json)
      }
    return matches ? nil : Failure(code: .pathMismatch, detail: "The client data was signed for another path.")
  }

  private static func compareQuery(
    _ clientData: ClientData, _ json: Span<UInt8>, _ facts: RequestFacts, _ policy: SharedPolicy
  ) -> Failure? {
    // A lone `?` and "" are no query.
    guard let query = clientData.query else {
      return facts.query.isEmpty || !policy.bindsQuery
        ? nil : Failure(code: .queryUnbound, detail: "The request has a query that the client data does not bind.")
    }
    return query.equals(facts.head.bytes(at: facts.query), in: json)
      ? nil : Failure(code: .queryMismatch, detail: "The client data was signed for another query.")
  }

  private static func compareHost(
    _ clientData: ClientData, _ json: Span<UInt8>, _ facts: RequestFacts, _ policy: SharedPolicy
  ) -> Failure? {
    guard let host = clientData.host else {
      return policy.binding.contains(.host)
        ? Failure(code: .hostMismatch, detail: "The client data lacks host, which this route demands.") : nil
    }
    let sent = normalHost(Array(copying: facts.head.bytes(at: facts.host)), defaultPort: facts.defaultPort)
    return host.equals(sent.span, in: json)
      ? nil : Failure(code: .hostMismatch, detail: "The client data was signed for another host.")
  }

  private static func demandBody(_ clientData: ClientData, _ policy: SharedPolicy) -> Failure? {
    clientData.bodyDigest == nil && policy.binding.contains(.body)
      ? Failure(code: .bodyMismatch, detail: "The client data lacks bodySHA256, which this route demands.") : nil
  }

  /// Whether `path` is `normalPath` as Foundation's `URL.path` gives it: percent-decoded, without one final slash.
  static func isDecodedPath(_ path: consuming JSONStringBytes, of normalPath: Span<UInt8>) -> Bool {
    if normalPath.count <= 1 {
      let first = path.next()
      return first == nil || first == UInt8(ascii: "/") && path.next() == nil
    }
    let end = normalPath[normalPath.count - 1] == UInt8(ascii: "/") ? normalPath.count - 1 : normalPath.count
    var index = 0
    while index < end {
      var byte = normalPath[index]
      index += 1
      if byte == UInt8(ascii: "%"), index + 2 <= end, let high = Hexadecimal.value(normalPath[index]),
        let low = Hexadecimal.value(normalPath[index + 1])
      {
        byte = high << 4 | low
        index += 2
      }
      guard path.next() == byte else { return false }
    }
    return path.next() == nil
  }

  /// `host` in lower case, without `:defaultPort`.
  static func normalHost(_ host: [UInt8], defaultPort: UInt16) -> [UInt8] {
    let lowerCase = host.map(ASCII.lowerCased)
    // The last colon begins a port, unless it stands inside the brackets of an IPv6 address.
    guard let colon = lowerCase.lastIndex(of: UInt8(ascii: ":")), !lowerCase[colon...].contains(UInt8(ascii: "]")) else { return lowerCase }
    let port = lowerCase[(colon + 1)...]
    return port.isEmpty || Array(port) == Array(String(defaultPort).utf8) ? Array(lowerCase[..<colon]) : lowerCase
  }
}
