import Exchange
import TLS

extension Meaning {
  /// How a listener speaks TLS: its files are read, so that what is wrong with them is said before anything starts.
  func tls(_ written: WrittenListenerTLS?) -> ListenerTLS? {
    guard let written else { return nil }
    var pairs = written.pairs ?? []
    let hasLonePair = written.pair.certificate != nil || written.pair.privateKey != nil
    if hasLonePair { pairs.insert(written.pair, at: 0) }
    if pairs.isEmpty {
      problems.add(written.pair.place, written.pair.path, "names no certificate; write certificate: and private_key: with PEM files")
    }
    var settings = ListenerTLS(files: pairs.compactMap(files))
    fill(&settings.minimumVersion, written.minimumVersion)
    fill(&settings.handshakeTimeoutMilliseconds, written.handshakeTimeout)
    if let authority = written.clientAuthority {
      let path = ReferencedFile.path(authority.value, besides: file)
      if case .failure(let wrong) = ReferencedFile.certificates(at: path) { problems.add(authority, wrong.message) }
      settings.clientAuthorityFile = path
    }
    return settings
  }

  /// Whom servers are verified against and what they are shown; nil, with a problem, when a file is wrong. `isUsed` tells whether
  /// anything speaks TLS there.
  func clientIdentity(_ written: WrittenClientTLS?, isUsed: Bool, servers: String) -> TLSClientIdentity? {
    if !isUsed, let written { problems.add(written.place, written.path, "is for \(servers), and there is none; remove it") }
    guard isUsed else { return nil }
    var authorities: [UInt8]?
    if let authority = written?.authority {
      let path = ReferencedFile.path(authority.value, besides: file)
      do throws(TLSFailure) {
        authorities = try ListenerCertificates.read(path)
      } catch {
        problems.add(authority, "cannot be used: \(error.reason)")
      }
    }
    var identity: TLSIdentity?
    if let files = written?.pair.flatMap(files) { identity = try? ListenerCertificates.identity(files) }
    do throws(TLSFailure) {
      return try TLSClientIdentity(authorities: authorities, identity: identity, serverName: written?.serverName?.value)
    } catch {
      if let authority = written?.authority {
        problems.add(authority, "cannot be used: \(error.reason)")
      } else if let written {
        problems.add(written.place, written.path, "cannot be used: \(error.reason)")
      }
      return nil
    }
  }

  private func files(_ pair: WrittenListenerTLS.Pair) -> ListenerTLS.Files? {
    guard let certificate = pair.certificate, let key = pair.privateKey else {
      if pair.certificate == nil { problems.add(pair.place, "\(pair.path).certificate", "is missing; name the PEM file of the chain") }
      if pair.privateKey == nil { problems.add(pair.place, "\(pair.path).private_key", "is missing; name the PEM file of the key") }
      return nil
    }
    let files = ListenerTLS.Files(
      certificate: ReferencedFile.path(certificate.value, besides: file), privateKey: ReferencedFile.path(key.value, besides: file))
    let areThere = [isReadable(files.certificate, certificate), isReadable(files.privateKey, key)]
    guard areThere == [true, true] else { return files }
    do throws(TLSFailure) {
      _ = try ListenerCertificates.identity(files)
    } catch {
      problems.add(certificate, "cannot be used: \(error.reason)")
    }
    return files
  }

  /// Whether the file at `path`, as it was written, can be read; if not, a problem says so.
  private func isReadable(_ path: String, _ written: Placed<String>) -> Bool {
    do throws(TLSFailure) {
      _ = try ListenerCertificates.read(path)
      return true
    } catch {
      problems.add(written, "cannot be used: \(error.reason)")
      return false
    }
  }
}
