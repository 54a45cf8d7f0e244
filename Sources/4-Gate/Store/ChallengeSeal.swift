public import AppAttest
import Bytes
public import Cryptography

/// What a challenge may be answered with.
public enum ChallengePurpose: UInt8, Sendable, CaseIterable {
  /// An attestation, at enrolment.
  case attest = 0
  /// An assertion, on a gated request.
  case assert = 1
}

/// Why a challenge is refused. Raw values are the codes of wire.md.
public enum ChallengeRefusal: String, Error, Sendable, CaseIterable {
  /// Not sealed by this store, or in an earlier run of it.
  case unknown = "challenge_unknown"
  /// Its time is over.
  case expired = "challenge_expired"
  /// Made for the other purpose.
  case wrongPurpose = "challenge_wrong_purpose"
  /// Made for another key.
  case wrongKey = "challenge_wrong_key"
}

/// A challenge whose seal is ours, that is unexpired and meant for this use. Whether it was used before, only the store's atomic step tells.
public struct OpenedChallenge: Sendable, Equatable {
  /// SHA-256 of the challenge text.
  public let digest: SHA256Digest
  /// Seconds since 1970.
  public let expiresAt: Int
  /// The store's run that it was judged under.
  public let runTag: UInt32
  /// The first 16 bytes of the one key identifier that it is good for; nil when any key may use it.
  let boundKey: [UInt8]?

  fileprivate init(digest: SHA256Digest, expiresAt: Int, runTag: UInt32, boundKey: [UInt8]?) {
    self.digest = digest
    self.expiresAt = expiresAt
    self.runTag = runTag
    self.boundKey = boundKey
  }

  /// Whether it is good for one key alone.
  public var isBound: Bool { boundKey != nil }

  /// Whether `key` may use it.
  public func isGood(for key: KeyIdentifier) -> Bool {
    guard let boundKey else { return true }
    return constantTimeEqual(boundKey.span, key.digest.span.extracting(first: boundKey.count))
  }

  /// The mark that uses it up for `key`, by the bytes whose SHA-256 is `fingerprint`; nil when it was made for another key.
  public func mark(for key: KeyIdentifier, fingerprint: SHA256Digest) -> ChallengeMark? {
    guard isGood(for: key) else { return nil }
    return ChallengeMark(challenge: digest, expiresAt: expiresAt, runTag: runTag, fingerprint: fingerprint)
  }
}

/// Makes and opens challenges: sealed, not stored (store.md).
///
/// A challenge is base64url, without padding, of
///
/// | bytes | |
/// |---|---|
/// | 1 | version, 1 |
/// | 4 | the secret's identifier |
/// | 1 | purpose in bit 0; bit 1: bound to a key |
/// | 8 | expiry in seconds since 1970 |
/// | 4 | tag of the store's run |
/// | 16 | random |
/// | 16 | only when bound: the first 16 bytes of the key identifier |
/// | 16 | HMAC-SHA256 over all of the above, truncated |
///
/// which is 67 characters, or 88 when bound. The key's part is inside the sealed bytes and not only under the HMAC: so a challenge
/// for another key is told apart from one that is not ours. Half of a key identifier suffices: to use a challenge bound to another's
/// key one needs a second preimage of 128 bits of SHA-256.
public struct ChallengeSeal: Sendable {
  /// How long a challenge may be asked to live: no secret is kept longer.
  public static let timeToLiveSecondsMax = 7 * 86_400
  /// A challenge is taken for so long after its expiry.
  public static let expiryToleranceSeconds = 5
  /// Characters of the shortest and the longest text that can be a challenge.
  public static let characterCounts = 43...160

  private static let version: UInt8 = 1
  private static let boundFlag: UInt8 = 2
  private static let randomByteCount = 16
  private static let keyByteCount = 16
  private static let codeByteCount = 16
  private static let headByteCount = 18
  private static let byteCount = headByteCount + randomByteCount + codeByteCount

  private let secrets: SealingSecrets

  /// A seal with these secrets.
  public init(_ secrets: SealingSecrets) { self.secrets = secrets }

  /// A fresh challenge that lives for `timeToLive` seconds from `now` (seconds since 1970); good for `key` alone when one is named.
  public func issue(purpose: ChallengePurpose, boundTo key: KeyIdentifier?, timeToLive: Int, now: Int) -> String {
    let secret = secrets.sealing(at: now)
    var bytes = [UInt8]()
    bytes.reserveCapacity(Self.byteCount + Self.keyByteCount)
    bytes.append(Self.version)
    Self.append(secret.identifier, to: &bytes)
    bytes.append(purpose.rawValue | (key == nil ? 0 : Self.boundFlag))
    Self.append(UInt64(max(0, now) + min(max(0, timeToLive), Self.timeToLiveSecondsMax)), to: &bytes)
    Self.append(secrets.runTag, to: &bytes)
    bytes += SecureRandom.bytes(Self.randomByteCount)
    if let key { for index in 0..<Self.keyByteCount { bytes.append(key.digest[index]) } }
    let code = HMACSHA256.code(key: secret.bytes.span, message: bytes.span)
    for index in 0..<Self.codeByteCount { bytes.append(code[index]) }
    return Base64.encodeURL(bytes.span)
  }

  /// Judges a challenge that came back: authentic and of this run, unexpired at `now`, of this purpose, for this key when bound.
  ///
  /// `key` is nil where none is known yet; ``OpenedChallenge/mark(for:fingerprint:)`` judges it then.
  public func open(
    _ text: Span<UInt8>, purpose: ChallengePurpose, key: KeyIdentifier?, now: Int
  ) -> Result<OpenedChallenge, ChallengeRefusal> {
    guard let sealed = Self.decode(text), let secret = secrets.secret(sealed.secretIdentifier) else { return .failure(.unknown) }
    let head = sealed.bytes.extracting(first: sealed.count - Self.codeByteCount)
    let code = HMACSHA256.code(key: secret.bytes.span, message: head)
    guard constantTimeEqual(code.span.extracting(first: Self.codeByteCount), sealed.bytes.extracting(last: Self.codeByteCount)) else {
      return .failure(.unknown)
    }
    guard sealed.runTag == secrets.runTag, let expiresAt = sealed.expiresAt else { return .failure(.unknown) }
    guard expiresAt > now - Self.expiryToleranceSeconds else { return .failure(.expired) }
    guard head[5] & 1 == purpose.rawValue else { return .failure(.wrongPurpose) }
    let boundKey = head[5] & Self.boundFlag == 0 ? nil : Array(copying: head.extracting(last: Self.keyByteCount))
    let opened = OpenedChallenge(digest: SHA256.digest(text), expiresAt: expiresAt, runTag: sealed.runTag, boundKey: boundKey)
    if let key, !opened.isGood(for: key) { return .failure(.wrongKey) }
    return .success(opened)
  }

  /// Whether the text could be a challenge, sealed with a secret that is not among these.
  func namesUnknownSecret(_ text: Span<UInt8>) -> Bool {
    guard let sealed = Self.decode(text) else { return false }
    return secrets.secret(sealed.secretIdentifier) == nil
  }

  /// Whether the text could be a challenge of some store.
  static func isWellFormed(_ text: Span<UInt8>) -> Bool { decode(text) != nil }

  /// The sealed bytes and their code, held in place: a challenge is opened for every request.
  private struct Sealed {
    var storage = InlineArray<66, UInt8>(repeating: 0)
    var count = 0

    var bytes: Span<UInt8> {
      @_lifetime(borrow self)
      get { storage.span.extracting(first: count) }
    }

    var secretIdentifier: UInt32 { UInt32(truncatingIfNeeded: number(1, 4)) }
    var expiresAt: Int? { Int(exactly: number(6, 8)) }
    var runTag: UInt32 { UInt32(truncatingIfNeeded: number(14, 4)) }

    private func number(_ start: Int, _ count: Int) -> UInt64 {
      var number: UInt64 = 0
      for index in start..<start + count { number = number << 8 | UInt64(storage[index]) }
      return number
    }
  }

  /// The sealed bytes and their code; nil for anything that this version cannot have made.
  ///
  /// One challenge has one text: an alias in the other alphabet, or padded, would be marked used under another name.
  private static func decode(_ text: Span<UInt8>) -> Sealed? {
    guard characterCounts.contains(text.count) else { return nil }
    for index in text.indices where text[index] == UInt8(ascii: "+") || text[index] == UInt8(ascii: "/") || text[index] == UInt8(ascii: "=")
    {
      return nil
    }
    var sealed = Sealed()
    var storage = sealed.storage.mutableSpan
    guard let count = Base64.decode(text, to: &storage), count >= byteCount else { return nil }
    sealed.count = count
    let flags = sealed.storage[5]
    guard sealed.storage[0] == version, flags & ~(boundFlag | 1) == 0,
      sealed.count == byteCount + (flags & boundFlag == 0 ? 0 : keyByteCount)
    else { return nil }
    return sealed
  }

  private static func append(_ number: some FixedWidthInteger & UnsignedInteger, to bytes: inout [UInt8]) {
    for shift in stride(from: number.bitWidth - 8, through: 0, by: -8) { bytes.append(UInt8(truncatingIfNeeded: number >> shift)) }
  }
}
