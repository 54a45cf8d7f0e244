import Gate
import HTTP
import Upstream

/// A listener's settings in the form in which each request needs them.
final class ServedListener: Sendable {
  let settings: ListenerSettings
  let headLimits: HeadLimits
  /// What becomes of a request's fields, by route.
  let fieldPolicies: [FieldPolicy]
  /// What its clients are shown; nil where it speaks plain HTTP.
  let certificates: ListenerCertificates?

  init(_ settings: ListenerSettings, site: Site, certificates: ListenerCertificates? = nil) {
    self.settings = settings
    self.certificates = certificates
    headLimits = HeadLimits(
      headBytesMax: settings.headBytesMax, startLineBytesMax: settings.requestLineBytesMax, fieldCountMax: settings.fieldCountMax)
    let underscores: FieldPolicy.Underscores =
      switch settings.underscoreFields {
      case .drop: .drop
      case .reject: .reject
      case .keep: .keep
      }
    fieldPolicies = site.routes.map { route in
      let inputs = route.policy.inputs
      let upstream = site.upstreams[route.upstream]
      return FieldPolicy(
        underscores: underscores, inputs: FieldNameSet([inputs.assertion, inputs.clientData, inputs.keyID]),
        keepsInputs: route.policy.keepsInputFields,
        changes: Self.changes(set: upstream.requestFieldsSet.map { ($0.name, $0.value) }, remove: upstream.requestFieldsRemoved))
    }
  }

  /// Whether connections that another configuration's listener accepted can go on under this one: it listens at the same place and had
  /// asked them for the same.
  func takesConnections(of other: ServedListener) -> Bool {
    settings.bind == other.settings.bind && settings.expectsProxyHeader == other.settings.expectsProxyHeader
      // Whom a PROXY header named was the word of those who were trusted then.
      && (!settings.expectsProxyHeader || settings.trustedPeers == other.settings.trustedPeers)
      && (settings.tls == nil) == (other.settings.tls == nil)
      && settings.tls?.clientAuthorityFile == other.settings.tls?.clientAuthorityFile
  }

  /// Changes that the configuration has checked already.
  static func changes(set: [(name: String, value: String)], remove: [String]) -> FieldChanges {
    guard let changes = FieldChanges(set: set, remove: remove) else {
      preconditionFailure("a field that may not be changed got past the configuration")
    }
    return changes
  }
}
