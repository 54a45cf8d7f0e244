public import Cryptography

/// Why a simulated device or its authority cannot do what it was asked to.
public enum DeviceFailure: Error, Sendable, Equatable, CustomStringConvertible {
  /// A file cannot be read or written; the system's reason.
  case file(path: String, reason: String)
  /// A file is there that must not be overwritten.
  case exists(path: String)
  /// A file does not hold what it should.
  case damaged(path: String)
  /// The authority's certificates could not be made or used.
  case certificate(CertificateFailure)

  /// For people.
  public var description: String {
    switch self {
    case .file(let path, let reason): "\(path): \(reason)"
    case .exists(let path): "\(path) exists already"
    case .damaged(let path): "\(path) is damaged"
    case .certificate(let failure): "certificate: \(failure)"
    }
  }
}
