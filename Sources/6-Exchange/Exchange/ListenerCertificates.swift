import EventLoop
import Synchronization
public import TLS

/// The `tls` section of a listener, with every default filled in.
public struct ListenerTLS: Sendable, Equatable {
  /// A certificate with its chain, and its private key: PEM files.
  public struct Files: Sendable, Equatable {
    /// PEM file of the certificate and the chain below its root.
    public var certificate: String
    /// PEM file of the private key, without a passphrase.
    public var privateKey: String

    /// A pair of files.
    public init(certificate: String, privateKey: String) {
      self.certificate = certificate
      self.privateKey = privateKey
    }
  }

  /// Certificates; the first stands in where a client names nobody we know.
  public var files: [Files]
  /// `min_version`.
  public var minimumVersion = TLSVersion.tls12
  /// `client_ca`: PEM file of the authorities of clients' certificates; nil when none is asked for.
  public var clientAuthorityFile: String?
  /// `handshake_timeout`.
  public var handshakeTimeoutMilliseconds = 10_000

  /// The defaults of config.md.
  public init(files: [Files]) { self.files = files }
}

/// What a listener shows its clients, read from its files; read again, what has changed takes the place of what was, for new
/// connections. Shared by the workers.
public final class ListenerCertificates: Sendable {
  /// Bytes of a PEM file that are read at most.
  public static let fileBytesMax = 1 << 20

  /// The section that says what to read.
  public let settings: ListenerTLS
  private let tickets: TicketKeys
  private let current: Mutex<TLSServer>

  /// Reads the files. Throws what is wrong with them, with the file's name.
  public init(_ settings: ListenerTLS, tickets: TicketKeys) throws(TLSFailure) {
    self.settings = settings
    self.tickets = tickets
    current = Mutex(try Self.load(settings, tickets))
  }

  /// What new connections are shown.
  public var server: TLSServer { current.withLock { $0 } }

  /// Reads the files again. When anything is wrong with them, nothing changes.
  public func reload() throws(TLSFailure) {
    let fresh = try Self.load(settings, tickets)
    current.withLock { $0 = fresh }
  }

  /// A certificate and key from their files.
  public static func identity(_ files: ListenerTLS.Files) throws(TLSFailure) -> TLSIdentity {
    let certificate = try read(files.certificate)
    let key = try read(files.privateKey)
    do throws(TLSFailure) {
      return try TLSIdentity(certificate: certificate, privateKey: key)
    } catch {
      throw TLSFailure(.ours, "\(files.certificate) and \(files.privateKey): \(error.reason)")
    }
  }

  /// The bytes of a PEM file.
  public static func read(_ path: String) throws(TLSFailure) -> [UInt8] {
    do throws(FileFailure) {
      return try InputFile.readRegular(path, bytesMax: fileBytesMax)
    } catch {
      let mend = KernelError.isDenied(error.errno) ? ": the gate's user must be allowed to read it and to enter its folders" : ""
      throw TLSFailure(.ours, "\(path) cannot be read (\(error))\(mend)")
    }
  }

  private static func load(_ settings: ListenerTLS, _ tickets: TicketKeys) throws(TLSFailure) -> TLSServer {
    var identities: [TLSIdentity] = []
    for files in settings.files { identities.append(try identity(files)) }
    var server = TLSServerSettings()
    server.minimumVersion = settings.minimumVersion
    if let file = settings.clientAuthorityFile { server.clientAuthorities = try read(file) }
    return try TLSServer(identities, settings: server, tickets: tickets)
  }
}
