import EventLoop
import Exchange
import FoundationEssentials
import Synchronization
import TLS
import Telemetry

/// Keeps listeners' certificates as their files are: read again when one has changed, as ACME clients leave it. (A reload
/// of the configuration reads them all.)
final class CertificateWatch: Sendable {
  /// How often files are looked at.
  private static let pauseSeconds = 2

  private static let expiry = MetricFamily(
    "attestgate_certificate_expiry_timestamp_seconds", .gauge, "When a listener's certificate expires, in seconds since 1970.")
  private static let reloads = MetricFamily(
    "attestgate_certificate_reloads_total", .counter, "Times that certificates were read again, by result.")

  private let registry: MetricRegistry
  private let diagnostics: Diagnostics
  private let watched: Mutex<[Watched]>

  /// A listener's certificates, and what their files looked like when they were read.
  private struct Watched {
    var certificates: ListenerCertificates
    var files: [FileState?]
    /// Why they could not be read the last time: they are tried again, whether they change or not, since it may have been a matter of
    /// rights or of descriptors.
    var failure: String?
  }

  /// What of a file tells that it is another one.
  private struct FileState: Equatable {
    var modified: Date?
    var size: Int?
    var number: Int?
  }

  init(_ listeners: [ListenerCertificates], registry: MetricRegistry, diagnostics: Diagnostics) {
    self.registry = registry
    self.diagnostics = diagnostics
    watched = Mutex([])
    follow(listeners)
  }

  /// Keeps these from now on, which have just been read.
  func follow(_ listeners: [ListenerCertificates]) {
    let former = watched.withLock { watched in
      defer { watched = listeners.map { Watched(certificates: $0, files: Self.states($0)) } }
      return watched
    }
    for listener in former {
      for files in listener.certificates.settings.files { registry.removeSeries(with: [Self.label(files)]) }
    }
    for listener in listeners { publish(listener) }
  }

  /// Looks at the files for as long as the process lives.
  func start() {
    Task { [self] in
      while true {
        try? await Task.sleep(for: .seconds(Self.pauseSeconds))
        for listener in changed() { reload(listener) }
      }
    }
  }

  private func reload(_ listener: ListenerCertificates) {
    do throws(TLSFailure) {
      try listener.reload()
      registry.counter(Self.reloads, [MetricLabel("result", "done")]).add()
      diagnostics.note(.notice, "certificates read again: \(listener.settings.files.map(\.certificate).joined(separator: ", "))")
      publish(listener)
      note(nil, of: listener)
    } catch {
      registry.counter(Self.reloads, [MetricLabel("result", "failed")]).add()
      if note(error.reason, of: listener) { diagnostics.note(.error, "the certificates stay as they were: \(error.reason)") }
    }
  }

  /// Whether the operator does not know it yet.
  @discardableResult
  private func note(_ failure: String?, of listener: ListenerCertificates) -> Bool {
    watched.withLock { watched in
      guard let index = watched.firstIndex(where: { $0.certificates === listener }) else { return false }
      defer { watched[index].failure = failure }
      return watched[index].failure != failure
    }
  }

  private func publish(_ listener: ListenerCertificates) {
    for (files, identity) in zip(listener.settings.files, listener.server.identities) {
      registry.gauge(Self.expiry, [Self.label(files)]).set(Int64(identity.notAfter))
    }
  }

  private static func label(_ files: ListenerTLS.Files) -> MetricLabel { MetricLabel("certificate", files.certificate) }

  private func changed() -> [ListenerCertificates] {
    watched.withLock { watched in
      watched.indices.compactMap { index in
        let now = Self.states(watched[index].certificates)
        defer { watched[index].files = now }
        return watched[index].files == now && watched[index].failure == nil ? nil : watched[index].certificates
      }
    }
  }

  private static func states(_ listener: ListenerCertificates) -> [FileState?] {
    let settings = listener.settings
    let paths = settings.files.flatMap { [$0.certificate, $0.privateKey] } + [settings.clientAuthorityFile].compactMap { $0 }
    return paths.map { path in
      // The file behind a link: ACME clients change the link.
      let target = URL(fileURLWithPath: path).resolvingSymlinksInPath().path
      guard let attributes = try? FileManager.default.attributesOfItem(atPath: target) else { return nil }
      return FileState(
        modified: attributes[.modificationDate] as? Date, size: attributes[.size] as? Int, number: attributes[.systemFileNumber] as? Int)
    }
  }
}
