import Foundation

/// A certificate authority made by `openssl`, with what it issues, in a folder that goes with it.
public final class CertificateAuthority: Sendable {
  /// Where the files lie.
  public let folder: TemporaryFolder
  /// PEM file of its own certificate.
  public var certificateFile: String { folder.file("ca.pem") }

  /// The kind of an issued key.
  public enum Key: Sendable {
    /// RSA of so many bits.
    case rsa(Int)
    /// P-256.
    case p256
  }

  /// A certificate with its key, as files.
  public struct Issued: Sendable {
    /// PEM file of the certificate, with the authority's behind it.
    public let certificateFile: String
    /// PEM file of the private key.
    public let keyFile: String
    /// The certificate's bytes.
    public var certificate: [UInt8] { CertificateAuthority.bytes(certificateFile) }
    /// The key's bytes.
    public var key: [UInt8] { CertificateAuthority.bytes(keyFile) }
  }

  /// Makes the authority.
  public init(name: String = "Test authority") throws {
    folder = try TemporaryFolder()
    try openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", folder.file("ca.key"))
    try openssl(
      "req", "-x509", "-new", "-key", folder.file("ca.key"), "-subj", "/CN=\(name)", "-days", "30", "-out", certificateFile)
  }

  /// The PEM of its certificate.
  public var certificate: [UInt8] { Self.bytes(certificateFile) }

  /// Issues a certificate for DNS names (or addresses, with `IP:` before them) that holds for `days`, from today.
  public func issue(_ file: String, names: [String], key: Key = .p256, days: Int = 90, commonName: String? = nil) throws -> Issued {
    let keyFile = folder.file("\(file).key")
    switch key {
    case .rsa(let bits): try openssl("genrsa", "-out", keyFile, "\(bits)")
    case .p256: try openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", keyFile)
    }
    let alternatives = names.map { $0.hasPrefix("IP:") ? $0 : "DNS:\($0)" }.joined(separator: ",")
    let extensions = names.isEmpty ? "basicConstraints=CA:FALSE" : "basicConstraints=CA:FALSE\nsubjectAltName=\(alternatives)"
    try folder.write(extensions + "\n", to: "\(file).ext")
    let subject = "/CN=\(commonName ?? names.first ?? file)"
    try openssl("req", "-new", "-key", keyFile, "-subj", subject, "-out", folder.file("\(file).csr"))
    try openssl(
      "x509", "-req", "-in", folder.file("\(file).csr"), "-CA", certificateFile, "-CAkey", folder.file("ca.key"), "-set_serial",
      "\(UInt32.random(in: 1...UInt32.max))", "-days", "\(days)", "-extfile", folder.file("\(file).ext"),
      "-out", folder.file("\(file).leaf"))
    let chain = folder.read("\(file).leaf") + folder.read("ca.pem")
    try folder.write(chain, to: "\(file).pem")
    return Issued(certificateFile: folder.file("\(file).pem"), keyFile: keyFile)
  }

  private func openssl(_ arguments: String...) throws {
    let run = try CommandRun(["openssl"] + arguments)
    guard run.succeeded else { throw FixtureFailure("openssl \(arguments.joined(separator: " ")): \(run.errors)") }
  }

  /// The bytes of one of its files.
  public static func bytes(_ file: String) -> [UInt8] {
    (try? Data(contentsOf: URL(fileURLWithPath: file))).map { Array($0) } ?? []
  }
}
