import Bytes

/// The fields that the gate itself judges, sets or removes, recognised once, while the head is parsed; all later passes are switches.
public enum FieldName: UInt8, Sendable {
  /// Any field that is passed on as it is.
  case other
  /// Reads like one of the names below where separators are not told apart (`Content_Length`); never passed on.
  case twin
  /// `X-App-Attest-…`.
  case appAttest
  /// Reads like `X-App-Attest-…` where separators are not told apart.
  case appAttestTwin
  case host, contentLength, transferEncoding
  case connection, keepAlive, proxyConnection, te, trailer, upgrade, http2Settings
  case proxyAuthenticate, proxyAuthorization, proxyAuthenticationInfo
  case expect, accept, authorization, cookie, date
  case cacheControl, targetedCacheControl
  case forwardedFor, forwardedProto, forwardedHost
  /// `Forwarded`, `X-Real-IP` and every other `X-Forwarded-…`, which upstreams take for a trusted hop's word.
  case forwarding
  /// `X-Original-URL` and `X-Rewrite-URL`, by which some frameworks serve another path than the one that was matched.
  case pathOverride
  case requestID

  /// Whether the field is for this connection alone (RFC 9110 section 7.6.1), or is answered for by the gate.
  ///
  /// `Trailer` and `TE` are here because trailers are dropped, the `Proxy-…` credentials because the gate is no proxy to its clients.
  var isHopByHop: Bool {
    switch self {
    case .connection, .keepAlive, .proxyConnection, .te, .trailer, .transferEncoding, .upgrade, .http2Settings, .proxyAuthenticate,
      .proxyAuthorization, .proxyAuthenticationInfo:
      true
    default: false
    }
  }

  /// Whether a `Connection` that names the field is refused: without it the message would be framed, routed or authorised otherwise.
  var isProtectedFromConnection: Bool {
    switch self {
    case .host, .contentLength, .transferEncoding, .authorization, .cookie: true
    default: false
    }
  }

  /// Whether the field is one of the gate's own, in any spelling.
  var isAppAttest: Bool { self == .appAttest || self == .appAttestTwin }
}

extension FieldName {
  /// Recognises a name that holds no separator but hyphens.
  init(_ name: Span<UInt8>) {
    self = .other
    let count = name.count
    guard count > 1 else { return }
    switch ASCII.lowerCased(name[0]) {
    case UInt8(ascii: "a"):
      if count == 6, name.equalsIgnoringCase("accept") { self = .accept }
      if count == 13, name.equalsIgnoringCase("authorization") { self = .authorization }
    case UInt8(ascii: "c"): self = Self.beginningWithC(name)
    case UInt8(ascii: "d"): if count == 4, name.equalsIgnoringCase("date") { self = .date }
    case UInt8(ascii: "e"):
      if count == 6, name.equalsIgnoringCase("expect") { self = .expect }
      if count == 12, name.equalsIgnoringCase("edge-control") { self = .targetedCacheControl }
    case UInt8(ascii: "f"): if count == 9, name.equalsIgnoringCase("forwarded") { self = .forwarding }
    case UInt8(ascii: "h"):
      if count == 4, name.equalsIgnoringCase("host") { self = .host }
      if count == 14, name.equalsIgnoringCase("http2-settings") { self = .http2Settings }
    case UInt8(ascii: "k"): if count == 10, name.equalsIgnoringCase("keep-alive") { self = .keepAlive }
    case UInt8(ascii: "p"): self = Self.beginningWithP(name)
    case UInt8(ascii: "t"):
      if count == 2, name.equalsIgnoringCase("te") { self = .te }
      if count == 7, name.equalsIgnoringCase("trailer") { self = .trailer }
      if count == 17, name.equalsIgnoringCase("transfer-encoding") { self = .transferEncoding }
    case UInt8(ascii: "u"): if count == 7, name.equalsIgnoringCase("upgrade") { self = .upgrade }
    case UInt8(ascii: "x"): self = Self.beginningWithX(name)
    default: break
    }
    // Fields for one kind of cache (RFC 9213 and its forerunners) overrule Cache-Control there.
    if self == .other, count >= 17, Self.isTargetedCacheControl(name) { self = .targetedCacheControl }
  }

  /// Recognises a name with separators other than hyphens: what CGI and its kin would read as one of the known names is a twin of it.
  init(withOddSeparators name: Span<UInt8>) {
    var folded = InlineArray<32, UInt8>(repeating: 0)
    let count = min(name.count, 32)
    for index in 0..<count { folded[index] = Self.folded(name[index]) }
    if Self.beginsLikeGateField(folded.span.extracting(first: count)) {
      self = .appAttestTwin
    } else {
      self = name.count <= 32 && FieldName(folded.span.extracting(first: count)) != .other ? .twin : .other
    }
  }

  /// Recognises a name of which it is not known yet what separators it holds.
  init(withAnySeparators name: Span<UInt8>) {
    for index in name.indices where ASCII.lowerCased(name[index]) != Self.folded(name[index]) {
      self.init(withOddSeparators: name)
      return
    }
    self.init(name)
  }

  /// The byte with letters lowered and every separator a hyphen.
  static func folded(_ byte: UInt8) -> UInt8 {
    let lower = ASCII.lowerCased(byte)
    return lower &- UInt8(ascii: "a") < 26 || ASCII.isDigit(lower) ? lower : UInt8(ascii: "-")
  }

  private static func beginsLikeGateField(_ name: Span<UInt8>) -> Bool {
    name.count >= 13 && name.extracting(first: 13).equalsIgnoringCase("x-app-attest-")
  }

  private static func beginningWithC(_ name: Span<UInt8>) -> FieldName {
    switch name.count {
    case 6: name.equalsIgnoringCase("cookie") ? .cookie : .other
    case 10: name.equalsIgnoringCase("connection") ? .connection : .other
    case 13: name.equalsIgnoringCase("cache-control") ? .cacheControl : .other
    case 14: name.equalsIgnoringCase("content-length") ? .contentLength : .other
    default: .other
    }
  }

  private static func beginningWithP(_ name: Span<UInt8>) -> FieldName {
    switch name.count {
    case 16: name.equalsIgnoringCase("proxy-connection") ? .proxyConnection : .other
    case 18: name.equalsIgnoringCase("proxy-authenticate") ? .proxyAuthenticate : .other
    case 19: name.equalsIgnoringCase("proxy-authorization") ? .proxyAuthorization : .other
    case 25: name.equalsIgnoringCase("proxy-authentication-info") ? .proxyAuthenticationInfo : .other
    default: .other
    }
  }

  private static func beginningWithX(_ name: Span<UInt8>) -> FieldName {
    if beginsLikeGateField(name) { return .appAttest }
    switch name.count {
    case 9: return name.equalsIgnoringCase("x-real-ip") ? .forwarding : .other
    case 12: return name.equalsIgnoringCase("x-request-id") ? .requestID : .other
    case 13 where name.equalsIgnoringCase("x-rewrite-url"), 14 where name.equalsIgnoringCase("x-original-url"): return .pathOverride
    case 15 where name.equalsIgnoringCase("x-forwarded-for"): return .forwardedFor
    case 16 where name.equalsIgnoringCase("x-forwarded-host"): return .forwardedHost
    case 17 where name.equalsIgnoringCase("x-forwarded-proto"): return .forwardedProto
    case 13... where name.extracting(first: 12).equalsIgnoringCase("x-forwarded-"): return .forwarding
    default: return .other
    }
  }

  private static func isTargetedCacheControl(_ name: Span<UInt8>) -> Bool {
    name.equalsIgnoringCase("surrogate-control") || name.extracting(last: 17).equalsIgnoringCase("cdn-cache-control")
  }
}
