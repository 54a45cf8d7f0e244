import Bytes
import EventLoop
import TLS

/// What was agreed upon with a client, for the log and for the upstream.
struct ClientTLS {
  let version: TLSVersion
  /// The field lines that tell the upstream of the client's certificate; empty where none is asked for.
  let certificateFields: [UInt8]
  /// By whom that certificate was verified; nil where none is asked for.
  private let authoritiesDigest: [UInt8]?

  init(_ session: TLSSession, asksForCertificate: Bool) {
    version = session.version
    guard asksForCertificate else {
      certificateFields = []
      authoritiesDigest = nil
      return
    }
    authoritiesDigest = session.authoritiesDigest
    var fields = ByteQueue()
    fields.append("X-App-Attest-Client-Certificate: ")
    if let fingerprint = session.peerFingerprint {
      fields.append("verified; sha256=")
      fields.append(Hexadecimal.encode(fingerprint.span))
      // RFC 2253: libcrypto escapes what is no printable ASCII.
      if let subject = session.peerSubject, subject.utf8.allSatisfy({ 0x20...0x7E ~= $0 }) {
        fields.append("\r\nX-App-Attest-Client-Subject: ")
        fields.append(subject)
      }
    } else {
      fields.append("none")
    }
    fields.append("\r\n")
    certificateFields = fields.copied()
  }

  /// Whether the listener trusts other authorities now: what was verified by those before is not verified any more.
  func hasOutlivedItsAuthorities(at listener: ServedListener) -> Bool {
    guard let authoritiesDigest else { return false }
    return listener.certificates?.server.authoritiesDigest != authoritiesDigest
  }
}

extension DownstreamConnection {
  /// Puts TLS on the connection, if its listener speaks it; what is returned is why that failed.
  func secure(counting handshakes: HandshakeMetrics) async -> TLSFailure? {
    guard let certificates = listener.certificates else { return nil }
    guard let session = certificates.server.secure(socket, received: input.copied()) else { return TLSFailure(.ours, "no memory") }
    input.removeAll()
    let limit = loop.now.advanced(byMilliseconds: certificates.settings.handshakeTimeoutMilliseconds)
    do throws(TLSFailure) {
      try await session.handshake(on: loop, until: limit)
    } catch {
      return error
    }
    tls = ClientTLS(session, asksForCertificate: certificates.settings.clientAuthorityFile != nil)
    handshakes.count(session)
    return nil
  }
}
