import AppAttest
import Bytes
import Cryptography
import Exchange
import Gate
import HTTP
import Routing
import Store
import TLS

/// What `check` says of a configuration that works but may not be meant (config.md, the end of "Routing").
struct Warnings {
  private let list: ProblemList
  private let written: WrittenConfiguration
  private let configuration: Configuration
  private let environment: ConfigurationEnvironment

  init(file: String, written: WrittenConfiguration, configuration: Configuration, environment: ConfigurationEnvironment) {
    list = ProblemList(file: file)
    self.written = written
    self.configuration = configuration
    self.environment = environment
    for index in configuration.routes.indices {
      warnOfReach(index)
      warnOfGate(index)
    }
    zip(written.apps, configuration.apps).forEach(warnOfApp)
    warnOfListeners()
  }

  /// In the order of the file.
  var found: [ConfigurationProblem] { list.sorted }

  // MARK: Routes

  private func warnOfReach(_ index: Int) {
    let routes = configuration.routes
    let pattern = routes[index].pattern
    let writtenPattern = written.routes[index].pattern!
    let before = routes[..<index].indices
    if let endpoint = endpointTaking(pattern.path) {
      return list.add(writtenPattern, "can never match: the gate answers \(endpoint) itself, before any route")
    }
    if pattern.isCovered(by: routes[..<index].map(\.pattern)) {
      let takers = before.filter { routes[$0].pattern.coversPath(of: pattern) }.map { "routes[\($0)]" }.joined(separator: ", ")
      return list.add(writtenPattern, "can never match: \(takers) before it take every such request")
    }
    if let other = routes.indices.first(where: { pattern.isWrittenLike(routes[$0].pattern) }) {
      list.add(
        writtenPattern,
        "is gated less than routes[\(other)], which has its name in other letters (\(routes[other].pattern.path.text)): an upstream that "
          + "ignores case serves both; write them alike, or gate both")
    }
  }

  private func endpointTaking(_ path: PathPattern) -> String? {
    let endpoints = configuration.endpoints
    let paths = [endpoints.assertChallenge] + (endpoints.enrols ? [endpoints.attestChallenge, endpoints.attestVerify] : [])
    return paths.first { endpoint in
      guard let pattern = try? PathPattern(endpoint) else { return false }
      return pattern.covers(path)
    }
  }

  private func warnOfGate(_ index: Int) {
    let policy = configuration.routes[index].policy
    let route = written.routes[index]
    guard policy.mode != .off else { return }
    let gate = route.gate
    if policy.clientData == .body, let place = gate?.clientData {
      list.add(place, "is the weaker profile: no challenge, method, path or query is signed, and the counter alone stops replay")
      let other = configuration.routes.firstIndex { other in
        other.policy.mode != .off && other.policy.clientData == .json && !Set(other.policy.apps.keys).isDisjoint(with: policy.apps.keys)
      }
      if let other {
        list.add(
          place,
          "takes assertions of the same apps as routes[\(other)], which signs client data: what is signed for one and never arrives is good "
            + "for the other; give them different apps")
      }
    }
    if policy.clientData == .json {
      if !policy.bindsQuery, let place = gate?.bindsQuery {
        list.add(place, "lets a query through that nobody signed: whoever holds a request may change it")
      }
      if let place = gate?.binding {
        if !policy.binding.contains(.body) { list.add(place, "does not name body: whoever holds a request may change it, or add one") }
        if !policy.binding.contains(.path) { list.add(place, "does not name path: a request is good for every path of this route") }
        if !policy.binding.contains(.method) { list.add(place, "does not name method: a signed GET is good as a DELETE") }
      }
    }
    if policy.counter == .strict, let place = gate?.bodyMax, place.value > 1 << 20 {
      list.add(
        place,
        "allows large bodies under a strict counter: a slow upload that was signed early commits after later requests and is refused; "
          + "write counter: {window: 64}")
    }
  }

  // MARK: Apps and listeners

  private func warnOfApp(_ written: WrittenApp, _ app: Configuration.App) {
    let hasApple = app.trustRoots.contains(AppleRoots.appAttestation)
    let privateRoots = app.trustRoots.filter { $0 != AppleRoots.appAttestation }
    if let entry = written.trustRoots?.value.first(where: { $0.value != "apple" }), let root = privateRoots.first {
      list.add(entry, "is a private root (\(root.subject)): whoever holds its key can make devices; not for production")
    }
    if let roots = written.trustRoots, let old = app.trustRoots.first(where: { $0.notAfter < environment.unixSeconds }) {
      list.add(roots, "has a root that has expired (\(old.subject)): no attestation will be accepted under it")
    }
    let place = written.environments.map { ($0.place, $0.path) } ?? (written.place, "\(written.path).environments")
    if app.environments.contains(.simulated) && privateRoots.isEmpty {
      list.add(place.0, place.1, "allows simulated, but only chains to a private root are that; add one to trust_roots")
    }
    if !privateRoots.isEmpty && !app.environments.contains(.simulated) {
      list.add(place.0, place.1, "does not allow simulated, which every key under a private root is: none can enrol")
    }
    if !hasApple && (app.environments.contains(.production) || app.environments.contains(.development)) {
      list.add(place.0, place.1, "allows Apple's environments, but trust_roots does not name apple")
    }
    if let team = written.teamID, !Self.isTeamIdentifier(team.value) {
      list.add(team, "is not in Apple's form, which is 10 characters A to Z and 0 to 9")
    }
  }

  private static func isTeamIdentifier(_ text: String) -> Bool {
    text.utf8.count == 10
      && text.utf8.allSatisfy {
        UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 || UInt8(ascii: "A")...UInt8(ascii: "Z") ~= $0
      }
  }

  /// Who believes nobody behind a proxy takes every client for the proxy; who believes everybody takes anybody for whom he says he is.
  private func warnOfTrust(_ entry: WrittenListener, _ listener: ListenerSettings) {
    if listener.trustedPeers.isEmpty, let likelyPeer = Self.likelyPeer(listener.bind) {
      list.add(
        entry.bind?.place ?? entry.place, "\(entry.path).bind",
        "\(likelyPeer), and trusted_proxies is empty: what it says of its clients is replaced, and they all count as one; list it there")
    }
    for peer in entry.trustedProxies?.value ?? [] {
      guard case .network(let network) = peer.value, network.prefixBits == 0 else { continue }
      list.add(peer, "trusts every peer: whoever connects may say who he is; list your proxies alone")
    }
  }

  /// What makes another proxy before the listener likely.
  private static func likelyPeer(_ bind: BindAddress) -> String? {
    if bind.unixPath != nil { return "is a Unix socket, so that a proxy is before it" }
    guard let address = IPAddress(Array(bind.host.utf8).span) else { return nil }
    let isPrivate = privateNetworks.contains { $0.contains(address) }
    return isPrivate ? "is a private address, so that a proxy is likely before it" : nil
  }

  /// RFC 1918, RFC 6598, RFC 4193.
  private static let privateNetworks: [IPNetwork] = [
    IPNetwork(IPAddress(ipv4: 0x0A00_0000), prefixBits: 8)!, IPNetwork(IPAddress(ipv4: 0xAC10_0000), prefixBits: 12)!,
    IPNetwork(IPAddress(ipv4: 0xC0A8_0000), prefixBits: 16)!, IPNetwork(IPAddress(ipv4: 0x6440_0000), prefixBits: 10)!,
    IPNetwork(IPAddress(high: 0xFC00_0000_0000_0000, low: 0), prefixBits: 7)!,
  ]

  private static let expiryWarningSeconds = 30 * 86_400

  /// A certificate that is about to expire, has expired, or does not hold yet, or one that clients cannot follow to its root.
  private func warnOfCertificates(_ entry: WrittenListener, _ listener: ListenerSettings) {
    guard let tls = listener.tls, let written = entry.tls else { return }
    for files in tls.files {
      guard let identity = try? ListenerCertificates.identity(files) else { continue }
      let now = environment.unixSeconds
      let days = (identity.notAfter - now) / 86_400
      if identity.notAfter <= now {
        list.add(written.pair.place, written.pair.path, "has a certificate that has expired (\(files.certificate)): clients refuse it")
      } else if identity.notAfter < now + Self.expiryWarningSeconds {
        list.add(written.pair.place, written.pair.path, "has a certificate that expires in \(days) day(s) (\(files.certificate)); renew it")
      }
      if identity.notBefore > now {
        list.add(written.pair.place, written.pair.path, "has a certificate that does not hold yet (\(files.certificate))")
      }
      if let issuer = identity.missingIssuer {
        list.add(
          written.pair.place, written.pair.path,
          "has a certificate without that of \(issuer), which signed it (\(files.certificate)): clients refuse it unless they know that authority "
            + "by themselves; append it, as ACME clients do in fullchain.pem")
      }
    }
  }

  private func warnOfListeners() {
    if let admin = configuration.admin, !admin.isLoopback, let written = written.admin {
      list.add(written.bind?.place ?? written.place, "\(written.path).bind", "is not loopback: metrics and health are open to the network")
    }
    for (entry, listener) in zip(written.listeners ?? [], configuration.listeners) {
      warnOfTrust(entry, listener)
      warnOfCertificates(entry, listener)
    }
    guard configuration.routes.contains(where: { $0.policy.mode != .off }) else { return }
    for (entry, listener) in zip(written.listeners ?? [], configuration.listeners)
    where !listener.bind.isLoopback && listener.tls == nil {
      list.add(
        entry.bind?.place ?? entry.place, "\(entry.path).bind",
        "serves gated routes without TLS beyond this machine: whoever listens in can read them; give the listener tls, or put a TLS terminator before it"
      )
    }
  }
}
