import COpenSSL
public import EventLoop

/// How a listener speaks TLS.
public struct TLSServerSettings: Sendable {
  /// The lowest version that is spoken.
  public var minimumVersion = TLSVersion.tls12
  /// PEM of the authorities of clients' certificates; nil when none is asked for. A client may come without one; one that does not hold
  /// ends the handshake.
  public var clientAuthorities: [UInt8]?

  /// The defaults.
  public init() {}
}

/// A listener's side of TLS: its certificates by name, its tickets. Immutable: new certificates are a new server. Shared by the workers.
@safe
public final class TLSServer: @unchecked Sendable {
  /// The certificates that it was made with.
  public let identities: [TLSIdentity]

  /// Tells the authorities that clients' certificates are verified by from others.
  public let authoritiesDigest: [UInt8]

  // libssl locks a context by itself; the tables are immutable once made.
  private let contexts: [OpaquePointer]
  let tickets: TicketKeys
  /// Index into `contexts`, by name in lower case; a wildcard's without its asterisk, with its point.
  private let byName: [String: Int]
  private let byDomain: [String: Int]

  /// A server with `identities`, of which the first stands in where a client names none or an unknown one. Where two with different
  /// kinds of keys are good for one name, the client's handshake chooses.
  public init(_ identities: [TLSIdentity], settings: TLSServerSettings = TLSServerSettings(), tickets: TicketKeys) throws(TLSFailure) {
    var choice = IdentityChoice(identities)
    let defaultSet = choice.standIn()
    let byName = choice.byName()
    let byDomain = choice.byDomain()
    var contexts: [OpaquePointer] = unsafe []
    do throws(TLSFailure) {
      for set in choice.sets { unsafe contexts.append(try Self.context(set.map { identities[$0] }, settings)) }
    } catch {
      for index in unsafe contexts.indices { unsafe SSL_CTX_free(contexts[index]) }
      throw error
    }
    precondition(defaultSet == 0)
    unsafe self.contexts = unsafe contexts
    self.identities = identities
    authoritiesDigest = Self.digest(of: settings.clientAuthorities ?? [])
    self.tickets = tickets
    self.byName = byName
    self.byDomain = byDomain
    let first = unsafe contexts[0]
    // libssl asks the context that the connection began with, whatever name it turned out to be for.
    unsafe cossl_tls_on_server_name(first, Self.chooseByName)
    _ = unsafe cossl_tls_on_ticket(first, TicketSeal.callback)
  }

  deinit {
    for index in unsafe contexts.indices { unsafe SSL_CTX_free(contexts[index]) }
  }

  /// Puts TLS between `socket` and its user; `received` is what of it was read already. Nil when there is no memory.
  public func secure(_ socket: Socket, received: [UInt8] = []) -> TLSSession? {
    guard let ssl = unsafe SSL_new(contexts[0]) else {
      ERR_clear_error()
      return nil
    }
    unsafe SSL_set_accept_state(ssl)
    return unsafe TLSSession(ssl, on: socket, as: .server(self), received: received)
  }

  private static func digest(of bytes: [UInt8]) -> [UInt8] {
    var digest = [UInt8](repeating: 0, count: 32)
    _ = unsafe digest.withUnsafeMutableBufferPointer { unsafe SHA256(bytes, bytes.count, $0.baseAddress) }
    return digest
  }

  private static func context(_ identities: [TLSIdentity], _ settings: TLSServerSettings) throws(TLSFailure) -> OpaquePointer {
    let context = try unsafe TLSDefaults.context(TLS_server_method(), minimum: settings.minimumVersion)
    do throws(TLSFailure) {
      for identity in identities {
        guard unsafe SSL_CTX_use_cert_and_key(context, identity.certificate, identity.key, identity.chain, 0) == 1 else {
          throw .drained(.ours, "the certificate is not taken")
        }
      }
      // Tickets alone: nothing is kept here for clients that may never come back.
      unsafe cossl_tls_set_session_cache(context, Int(SSL_SESS_CACHE_OFF))
      // One with each handshake (RFC 8446 section 4.6.1): as many connections as a client had can go on later.
      _ = unsafe SSL_CTX_set_num_tickets(context, 1)
      unsafe SSL_CTX_set_alpn_select_cb(context, Self.chooseProtocol, nil)
      // What was verified by other authorities is not verified here, so such a session does not go on.
      let scope = Self.digest(of: settings.clientAuthorities ?? [])
      _ = unsafe SSL_CTX_set_session_id_context(context, scope, UInt32(scope.count))
      _ = unsafe SSL_CTX_set_timeout(context, TicketKeys.sealingSeconds)
      if let authorities = settings.clientAuthorities {
        try unsafe TLSDefaults.trust(authorities, in: context)
        let stack = unsafe TLSIdentity.certificates(authorities)
        defer { unsafe cossl_certificates_free(stack) }
        for index in 0..<(unsafe cossl_certificates_count(stack)) {
          _ = unsafe SSL_CTX_add_client_CA(context, cossl_certificates_at(stack, index))
        }
        unsafe SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nil)
        // A verdict is good for one connection: authorities may be replaced, and certificates expire, while tickets would go on.
        unsafe cossl_tls_refuse_tickets(context)
      }
      return unsafe context
    } catch {
      unsafe SSL_CTX_free(context)
      throw error
    }
  }

  /// RFC 6066 section 3: the client names whom it wants to speak to. One that we have no certificate for gets the first: telling it so
  /// is the certificate's business.
  private static let chooseByName: @convention(c) (OpaquePointer?, UnsafeMutablePointer<Int32>?, UnsafeMutableRawPointer?) -> Int32 = {
    ssl, _, _ in
    guard let server = unsafe TLSSession.of(ssl)?.server, let text = unsafe SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name) else {
      return SSL_TLSEXT_ERR_OK
    }
    var name = unsafe String(cString: text).lowercased()
    // The root's own dot says nothing (RFC 6066 section 3 leaves it out).
    if name.hasSuffix(".") { name.removeLast() }
    let index = server.contextIndex(for: name)
    if index > 0 { _ = unsafe SSL_set_SSL_CTX(ssl, server.contexts[index]) }
    return SSL_TLSEXT_ERR_OK
  }

  private func contextIndex(for name: String) -> Int {
    if let index = byName[name] { return index }
    guard !byDomain.isEmpty, let point = name.firstIndex(of: ".") else { return 0 }
    return byDomain[String(name[point...])] ?? 0
  }

  /// RFC 7301 section 3.2: a client that offers protocols, but not ours, is refused.
  private static let chooseProtocol:
    @convention(c) (
      OpaquePointer?, UnsafeMutablePointer<UnsafePointer<UInt8>?>?, UnsafeMutablePointer<UInt8>?, UnsafePointer<UInt8>?, UInt32,
      UnsafeMutableRawPointer?
    ) -> Int32 = { _, output, outputCount, offered, offeredCount, _ in
      guard let offered = unsafe offered else { return SSL_TLSEXT_ERR_ALERT_FATAL }
      let ours = "http/1.1".utf8.count
      var place = 0
      while place < Int(offeredCount) {
        let count = unsafe Int(offered[place])
        guard place + 1 + count <= Int(offeredCount) else { break }
        let name = unsafe UnsafeBufferPointer(start: offered + place + 1, count: count)
        if unsafe count == ours && name.elementsEqual("http/1.1".utf8) {
          unsafe output?.pointee = unsafe offered + place + 1
          unsafe outputCount?.pointee = UInt8(count)
          return SSL_TLSEXT_ERR_OK
        }
        place += 1 + count
      }
      return SSL_TLSEXT_ERR_ALERT_FATAL
    }
}
