public import Cryptography

/// The gate's word on a request of which it has seen the head.
public enum Examination: ~Copyable {
  /// Read the body whole (send `100 Continue` first), then ask ``Gate/judge(_:body:)``.
  case needsBody(ExaminedRequest)
  /// The body is not needed, and may be streamed, up to the route's limit.
  case judged(Judgement)
}

/// The gate's word on a request of which it has seen all that it wants to see. Nothing was consumed so far.
public enum Judgement: ~Copyable {
  /// Only the store's word is missing: see that everything else which the request needs is there, then ask ``Gate/admit(_:)``.
  case passed(PassedRequest)
  /// Forward it: there is nothing to consume.
  case admit(Admission)
  /// Answer it.
  case refuse(Refusal)
}

/// The gate's last word on a request.
public enum Verdict: ~Copyable {
  /// Forward it.
  case admit(Admission)
  /// Answer it. Nothing was consumed.
  case refuse(Refusal)
}

/// A body that was read whole.
public struct ReadBody: Sendable, Equatable {
  /// After transfer decoding.
  public var byteCount: Int
  /// SHA-256 of those bytes.
  public var digest: SHA256Digest

  /// A body.
  public init(byteCount: Int, digest: SHA256Digest) {
    self.byteCount = byteCount
    self.digest = digest
  }

  /// No body, which is signed as the empty string.
  public static let empty = ReadBody(byteCount: 0, digest: SHA256.digest(Span()))
}

/// What became of reading the body that the gate asked for.
public enum BodyEvidence: Sendable, Equatable {
  /// It was read whole.
  case read(ReadBody)
  /// It is longer than ``GatePolicy/bodyBytesMax``. A monitored route streams what was read and the rest.
  case tooLarge
  /// The disk has no room for it, or failed. A monitored route streams what was read and the rest.
  case notStored
}
