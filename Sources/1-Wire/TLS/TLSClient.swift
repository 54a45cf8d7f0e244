import COpenSSL
public import EventLoop

/// Our side of TLS towards one kind of servers: whom we trust, and who we are. Immutable, shared by the workers.
@safe
public final class TLSClientIdentity: @unchecked Sendable, Equatable {
  /// The name that certificates must be for, where it is not the one that is connected to.
  public let serverName: String?
  let authorities: [UInt8]?
  private let identity: TLSIdentity?
  // libssl locks a context by itself.
  let context: OpaquePointer

  /// Servers are verified against the authorities in `authorities` (PEM), those of the system where it is nil; `identity` is shown to
  /// servers that ask.
  public init(authorities: [UInt8]?, identity: TLSIdentity?, serverName: String? = nil) throws(TLSFailure) {
    self.authorities = authorities
    self.identity = identity
    self.serverName = serverName
    let context = try unsafe TLSDefaults.context(TLS_client_method(), minimum: .tls12)
    do throws(TLSFailure) {
      try unsafe TLSDefaults.trust(authorities, in: context)
      unsafe SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nil)
      unsafe cossl_tls_set_session_cache(context, Int(SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL))
      unsafe SSL_CTX_sess_set_new_cb(context, TLSClient.keepSession)
      if let identity {
        guard unsafe SSL_CTX_use_cert_and_key(context, identity.certificate, identity.key, identity.chain, 0) == 1 else {
          throw .drained(.ours, "the certificate is not taken")
        }
      }
    } catch {
      unsafe SSL_CTX_free(context)
      throw error
    }
    unsafe self.context = unsafe context
  }

  deinit { unsafe SSL_CTX_free(context) }

  /// Whether both trust the same and show the same.
  public static func == (left: TLSClientIdentity, right: TLSClientIdentity) -> Bool {
    left.authorities == right.authorities && left.identity?.source == right.identity?.source && left.serverName == right.serverName
  }
}

/// Our side of TLS towards one server, as one loop uses it: its name, and the session that the next connection resumes.
@safe
public final class TLSClient {
  private let identity: TLSClientIdentity
  /// The name that the certificate must be for: a DNS name, or an address in text.
  public let name: String
  /// Whether servers are verified against the system's authorities.
  var trustsSystem: Bool { identity.authorities == nil }
  private let isAddress: Bool
  private let offersHTTP: Bool
  private var session: OpaquePointer?

  /// A client of the server `name`, unless the identity has another name for it. `offersHTTP` offers `http/1.1` by ALPN.
  public init(_ identity: TLSClientIdentity, name: String, offersHTTP: Bool) {
    self.identity = identity
    let wanted = identity.serverName ?? name
    // Certificates are for names without the root's own dot.
    self.name = wanted.hasSuffix(".") ? String(wanted.dropLast()) : wanted
    self.offersHTTP = offersHTTP
    isAddress = SocketAddress(host: self.name, port: 1) != nil
  }

  deinit { unsafe SSL_SESSION_free(session) }

  /// A connection to `address` with TLS on it: it leads to the server whose certificate holds for the name, or it is not made.
  public func connect(to address: SocketAddress, on loop: EventLoop, until deadline: Instant) async throws(SocketFailure) -> Socket {
    let socket = try await Socket.connect(to: address, on: loop, until: deadline)
    do throws(TLSFailure) {
      _ = try await secure(socket, on: loop, until: deadline)
      return socket
    } catch {
      socket.close()
      throw error.side == .time ? .timedOut : .notSecured(error.reason)
    }
  }

  /// Puts TLS between `socket` and its user, and agrees with the server: only then is it one whose certificate holds for the name.
  public func secure(_ socket: Socket, on loop: EventLoop, until deadline: Instant) async throws(TLSFailure) -> TLSSession {
    ERR_clear_error()
    guard let ssl = unsafe SSL_new(identity.context) else { throw .drained(.ours, "libssl has no memory") }
    unsafe SSL_set_connect_state(ssl)
    guard unsafe demandName(ssl) else {
      unsafe SSL_free(ssl)
      throw .drained(.ours, "the name cannot be asked for")
    }
    if offersHTTP { _ = unsafe SSL_set_alpn_protos(ssl, TLSDefaults.protocols, UInt32(TLSDefaults.protocols.count)) }
    if let session = unsafe session { _ = unsafe SSL_set_session(ssl, session) }
    guard let layer = unsafe TLSSession(ssl, on: socket, as: .client(self)) else { throw TLSFailure(.ours, "libssl has no memory") }
    do throws(TLSFailure) {
      try await layer.handshake(on: loop, until: deadline)
    } catch {
      forgetSession()
      throw error
    }
    return layer
  }

  /// RFC 6125: the certificate must be for this name or address.
  private func demandName(_ ssl: OpaquePointer) -> Bool {
    if isAddress { return unsafe X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), name) == 1 }
    unsafe SSL_set_hostflags(ssl, UInt32(X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS))
    return unsafe SSL_set1_host(ssl, name) == 1 && cossl_tls_set_host_name(ssl, name) == 1
  }

  private func forgetSession() {
    unsafe SSL_SESSION_free(session)
    unsafe session = nil
  }

  static let keepSession: @convention(c) (OpaquePointer?, OpaquePointer?) -> Int32 = { ssl, session in
    guard case .client(let client) = unsafe TLSSession.of(ssl)?.role else { return 0 }
    client.forgetSession()
    unsafe client.session = unsafe session
    // The reference is ours now.
    return 1
  }
}
