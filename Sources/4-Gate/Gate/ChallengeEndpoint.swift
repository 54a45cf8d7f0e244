import AppAttest
import Bytes
import HTTP
public import Store

/// `GET /attest/challenge` and `GET /assert/challenge`. Confined to its worker; issuing costs no store access.
public final class ChallengeEndpoint {
  private let settings: GateSettings
  private let store: any Store
  private let clock: GateClock

  /// The challenge endpoints over one worker's store.
  public init(settings: GateSettings, store: any Store, clock: GateClock = .system) {
    self.settings = settings
    self.store = store
    self.clock = clock
  }

  /// A challenge for `attestKey`.
  public func attestationChallenge() -> EndpointAnswer {
    issue(.attest, boundTo: nil, seconds: settings.attestationChallengeSeconds)
  }

  /// A challenge for `generateAssertion`, good for one key alone where the field `X-App-Attest-Key-Id` or `key_id` of the raw `query` names it.
  public func assertionChallenge(keyID: FieldInput, query: [UInt8]?) -> EndpointAnswer {
    let named = Self.key(in: keyID)
    let asked = Self.key(inQuery: query ?? [])
    if named == .malformed || asked == .malformed {
      return .refused(Refusal(code: .keyIDMalformed, detail: "The key identifier is not base64 of 32 bytes, once.", place: .endpoint))
    }
    if let first = named.identifier, let second = asked.identifier, first != second {
      return .refused(Refusal(code: .keyIDMalformed, detail: "Header and query name different keys.", place: .endpoint))
    }
    return issue(.assert, boundTo: named.identifier ?? asked.identifier, seconds: settings.assertionChallengeSeconds)
  }

  private func issue(_ purpose: ChallengePurpose, boundTo key: KeyIdentifier?, seconds: Int) -> EndpointAnswer {
    guard let text = store.issueChallenge(purpose: purpose, boundTo: key, timeToLive: seconds, now: clock.unixSeconds()) else {
      return .refused(Refusal(code: .storeUnavailable, detail: "No challenge can be made now.", place: .endpoint))
    }
    return .challenge(text, expiresIn: seconds)
  }

  /// The key that a part of the request names.
  private enum NamedKey: Equatable {
    case none
    case key(KeyIdentifier)
    case malformed

    var identifier: KeyIdentifier? { if case .key(let key) = self { key } else { nil } }
  }

  private static func key(in field: FieldInput) -> NamedKey {
    switch field {
    case .absent: .none
    case .repeated: .malformed
    case .one(let text): KeyIdentifier(base64: text.span).map(NamedKey.key) ?? .malformed
    }
  }

  /// The parameter `key_id`, of which there may be one. `+` stands for itself: it is a digit of base64, and apps write it unescaped.
  private static func key(inQuery query: [UInt8]) -> NamedKey {
    var found = NamedKey.none
    for parameter in query.split(separator: UInt8(ascii: "&")) where parameter.starts(with: "key_id=".utf8) {
      guard found == .none else { return .malformed }
      let text = unescaped(parameter.dropFirst("key_id=".utf8.count))
      found = KeyIdentifier(base64: text.span).map(NamedKey.key) ?? .malformed
    }
    return found
  }

  /// Decodes `%2B`, `%2F` and `%3D`, the escapes of base64's digits; any other escape stays, and is no base64.
  private static func unescaped(_ text: ArraySlice<UInt8>) -> [UInt8] {
    var decoded = [UInt8]()
    decoded.reserveCapacity(text.count)
    var index = text.startIndex
    while index < text.endIndex {
      if text[index] == UInt8(ascii: "%"), index + 2 < text.endIndex, let high = Hexadecimal.value(text[index + 1]),
        let low = Hexadecimal.value(text[index + 2]), "+/=".utf8.contains(high << 4 | low)
      {
        decoded.append(high << 4 | low)
        index += 3
      } else {
        decoded.append(text[index])
        index += 1
      }
    }
    return decoded
  }
}
