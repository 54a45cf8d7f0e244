public import Cryptography

/// The gate's last word on a request.
public enum Verdict: ~Copyable {
  /// Forward it.
  case admit(Admission)
  /// Answer it.
  case refuse(Refusal)
}

/// The gate's word on a request of which it has seen the head.
public enum Examination: ~Copyable {
  /// Forward it; its body may be streamed, up to the route's limit.
  case admit(Admission)
  /// Answer it.
  case refuse(Refusal)
  /// Read the body whole (send `100 Continue` first), then ask ``Gate/admit(_:body:)``. Nothing was consumed so far.
  case needsBody(ExaminedRequest)
}

/// What became of reading the body that the gate asked for.
public enum BodyEvidence: Sendable {
  /// It was read whole; its size in bytes and SHA-256 after transfer decoding.
  case read(byteCount: Int, digest: SHA256Digest)
  /// It is longer than ``GatePolicy/bodyBytesMax``. A monitored route streams what was read and the rest.
  case tooLarge
}
