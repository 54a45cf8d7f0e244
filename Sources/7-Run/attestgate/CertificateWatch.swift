import EventLoop
import Exchange
import FoundationEssentials
import Synchronization
import TLS
import Telemetry

/// Keeps listeners' certificates as their files are: read again by SIGHUP, and when a file has changed, as ACME clients leave it.
final class CertificateWatch: Sendable {
  /// How often files are looked at.
  private static let pauseSeconds = 2

  private static let expiry = MetricFamily(
    "attestgate_certificate_expiry_timestamp_seconds", .gauge, "When a listener's certificate expires, in seconds since 1970.")
  private static let reloads = MetricFamily(
    "attestgate_certificate_reloads_total", .counter, "Times that certificates were read again, by result.")

  private let listeners: [ListenerCertificates]
  private let registry: MetricRegistry
  private let diagnostics: Diagnostics
  /// What the files looked like when they were read.
  private let seen: Mutex<[[FileState?]]>

  /// What of a file tells that it is another one.
  private struct FileState: Equatable {
    var modified: Date?
    var size: Int?
    var number: Int?
  }

  init(_ listeners: [ListenerCertificates], registry: MetricRegistry, diagnostics: Diagnostics) {
    self.listeners = listeners
    self.registry = registry
    self.diagnostics = diagnostics
    seen = Mutex(listeners.map(Self.states))
    for listener in listeners { publish(listener) }
  }

  /// Looks at the files for as long as the process lives.
  func start() {
    guard !listeners.isEmpty else { return }
    Task { [self] in
      while true {
        try? await Task.sleep(for: .seconds(Self.pauseSeconds))
        for index in listeners.indices where hasChanged(index) { reload(index) }
      }
    }
  }

  /// Reads every file again.
  func reload() {
    for index in listeners.indices {
      _ = hasChanged(index)
      reload(index)
    }
  }

  private func reload(_ index: Int) {
    let listener = listeners[index]
    do throws(TLSFailure) {
      try listener.reload()
      registry.counter(Self.reloads, [MetricLabel("result", "done")]).add()
      diagnostics.note(.notice, "certificates read again: \(listener.settings.files.map(\.certificate).joined(separator: ", "))")
      publish(listener)
    } catch {
      registry.counter(Self.reloads, [MetricLabel("result", "failed")]).add()
      diagnostics.note(.error, "the certificates stay as they were: \(error.reason)")
    }
  }

  private func publish(_ listener: ListenerCertificates) {
    for (files, identity) in zip(listener.settings.files, listener.server.identities) {
      registry.gauge(Self.expiry, [MetricLabel("certificate", files.certificate)]).set(Int64(identity.notAfter))
    }
  }

  private func hasChanged(_ index: Int) -> Bool {
    let now = Self.states(listeners[index])
    return seen.withLock { seen in
      defer { seen[index] = now }
      return seen[index] != now
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
