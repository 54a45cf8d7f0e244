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

  private func files(_ pair: WrittenListenerTLS.Pair) -> ListenerTLS.Files? {
    guard let certificate = pair.certificate, let key = pair.privateKey else {
      if pair.certificate == nil { problems.add(pair.place, "\(pair.path).certificate", "is missing; name the PEM file of the chain") }
      if pair.privateKey == nil { problems.add(pair.place, "\(pair.path).private_key", "is missing; name the PEM file of the key") }
      return nil
    }
    let files = ListenerTLS.Files(
      certificate: ReferencedFile.path(certificate.value, besides: file), privateKey: ReferencedFile.path(key.value, besides: file))
    do throws(TLSFailure) {
      _ = try ListenerCertificates.identity(files)
    } catch {
      problems.add(certificate, "cannot be used: \(error.reason)")
    }
    return files
  }
}
