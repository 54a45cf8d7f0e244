import AppAttest
import Exchange
import Gate
import Routing
import Store

extension Meaning {
  /// The routes that are all there.
  func routes(_ written: [WrittenRoute], apps: ReadApps, upstreams: [String]) -> [RouteSettings] {
    let methods = Set(written.flatMap { $0.methods?.value.map(\.value) ?? [] })
    if methods.count >= Router.methodsMax, let route = written.first {
      problems.add(route.place, route.path, "the routes name more than \(Router.methodsMax - 1) methods together")
    }
    return written.compactMap { route($0, apps: apps, upstreams: upstreams) }
  }

  /// A gated route without an app would refuse everybody.
  func checkAppsExist(_ written: WrittenConfiguration) {
    guard written.lacksApps else { return }
    for route in written.routes where (route.gate?.mode?.value ?? .enforce) != .off && route.gate?.apps == nil {
      problems.add(route.gatePlace, "\(route.path).gate", "no app is configured whose requests could pass; add apps, or write gate: off")
    }
  }

  private func route(_ written: WrittenRoute, apps: ReadApps, upstreams: [String]) -> RouteSettings? {
    let policy = policy(written, apps)
    if let methods = written.methods { checkDistinct(methods) }
    if let allowed = written.allowInPath { checkDistinct(allowed, allowsNone: true) }
    let allowed = written.allowInPath?.value.reduce(into: PathFeatures()) { $0.formUnion($1.value) } ?? []
    check(written, allowed, policy)
    let index = upstream(written.upstream, upstreams)
    guard let pattern = written.pattern, let index else { return nil }
    let missing = pattern.value.features.subtracting(allowed)
    if !missing.isEmpty {
      problems.add(pattern, "holds what allow_in_path does not list, so it can never match; add \(missing.names.joined(separator: ", "))")
    }
    checkRate(written, policy)
    if let upgrade = written.upgrade { checkUpgrade(upgrade, methods: written.methods?.value.map(\.value)) }
    var settings = RouteSettings(
      pattern: RoutePattern(
        host: written.host?.value, path: pattern.value, methods: written.methods?.value.map(\.value) ?? [], allowedInPath: allowed,
        gate: policy.mode.routeGate),
      upstream: index, policy: policy, timeoutMilliseconds: written.timeout?.value)
    settings.passesWebSocket = written.upgrade?.value.isEmpty == false
    if policy.mode == .off { settings.openBodyBytesMax = written.gate?.bodyMax?.value }
    settings.addressRate = written.rate?.address?.value
    if let rate = written.rate?.other?.value {
      // Whoever serves the same route over the same store counts in the same bucket.
      let methods = settings.pattern.methods.sorted().joined(separator: ",")
      settings.policy.keyRate = KeyRate(rate, route: "\(methods) \(settings.label)")
    }
    return settings
  }

  /// A rate that could never take effect is not what was meant.
  private func checkRate(_ written: WrittenRoute, _ policy: GatePolicy) {
    if let key = written.rate?.other, key.value != nil, policy.mode == .off {
      problems.add(key, "limits verified keys, and a route with gate: off verifies none; use address")
    }
    if let address = written.rate?.address, address.value != nil, policy.mode == .enforce, !policy.admitsOnStoreFailure {
      problems.add(
        address,
        "has no effect here: this route passes verified keys only, and these are never limited by address, since many share one; use key")
    }
  }

  /// A handshake is a GET (RFC 6455 section 4.1).
  private func checkUpgrade(_ upgrade: Placed<[Placed<String>]>, methods: [String]?) {
    checkDistinct(upgrade, allowsNone: true)
    if let methods, !methods.contains("GET"), !upgrade.value.isEmpty {
      problems.add(upgrade, "needs GET among the route's methods: a WebSocket begins with it")
    }
  }

  private func upstream(_ name: Placed<String>?, _ upstreams: [String]) -> Int? {
    guard let name else { return nil }
    if let index = upstreams.firstIndex(of: name.value) { return index }
    problems.add(name, "no upstream \"\(name.value)\"\(Suggestion.phrase(for: name.value, among: upstreams))")
    return nil
  }

  /// The rules that tie keys of a route together.
  private func check(_ written: WrittenRoute, _ allowed: PathFeatures, _ policy: GatePolicy) {
    guard policy.mode != .off else { return }
    let decodesToAnother = allowed.intersection([.encodedSlash, .encodedBackslash, .encodedPercent])
    if policy.clientData == .json, policy.pathForm == .decoded, !decodesToAnother.isEmpty, let list = written.allowInPath {
      problems.add(
        list,
        "\(decodesToAnother.names.joined(separator: ", ")) on a gated route needs path_form: encoded, "
          + "since decoded paths such as /a%2Fb and /a/b would be bound alike")
    }
    guard policy.clientData == .body, let gate = written.gate, let clientData = gate.clientData else { return }
    if !written.hasMethods {
      problems.add(clientData, "signs the body alone; list the route's methods, such as methods: [POST]")
    }
    let meaningless: [(key: String, place: Place?)] = [
      ("bind", gate.binding?.place), ("query", gate.bindsQuery?.place), ("path_form", gate.pathForm?.place),
      ("body_memory", gate.bodyMemory?.place), ("headers.client_data", gate.clientDataField?.place),
    ]
    for (key, place) in meaningless {
      guard let place else { continue }
      problems.add(place, "\(written.path).gate.\(key)", "has no meaning with client_data: body; remove it")
    }
  }

  private func policy(_ written: WrittenRoute, _ apps: ReadApps) -> GatePolicy {
    var policy = GatePolicy()
    let gate = written.gate
    fill(&policy.mode, gate?.mode)
    fill(&policy.bindsQuery, gate?.bindsQuery)
    fill(&policy.pathForm, gate?.pathForm)
    fill(&policy.clientData, gate?.clientData)
    fill(&policy.requiresKeyID, gate?.requiresKeyID)
    fill(&policy.counter, gate?.counter)
    fill(&policy.bodyBytesMax, gate?.bodyMax)
    fill(&policy.bodyMemoryBytes, gate?.bodyMemory)
    fill(&policy.admitsOnStoreFailure, gate?.admitsOnStoreFailure)
    fill(&policy.keepsInputFields, gate?.keepsFields)
    fill(&policy.marksAnswersPrivate, gate?.marksPrivate)
    if let binding = gate?.binding {
      checkDistinct(binding, allowsNone: true)
      policy.binding = binding.value.reduce(into: []) { $0.formUnion($1.value) }
    }
    if policy.clientData == .body { restrictToBody(&policy, gate) }
    inputs(&policy.inputs, gate)
    policy.apps = admitted(written, apps)
    return policy
  }

  /// `client_data: body` binds nothing else, and its body is read into memory only (wire.md, "Profile").
  private func restrictToBody(_ policy: inout GatePolicy, _ gate: WrittenGate?) {
    policy.binding = []
    policy.bindsQuery = false
    if let written = gate?.bodyMax {
      if written.value > 16 << 20 { problems.add(written, "must be at most 16MiB with client_data: body, which is read into memory") }
    } else {
      policy.bodyBytesMax = 64 << 10
    }
    policy.bodyMemoryBytes = policy.bodyBytesMax
  }

  private func inputs(_ inputs: inout GatePolicy.InputFields, _ gate: WrittenGate?) {
    fill(&inputs.assertion, gate?.assertionField)
    fill(&inputs.clientData, gate?.clientDataField)
    fill(&inputs.keyID, gate?.keyIDField)
    let names = [inputs.assertion, inputs.clientData, inputs.keyID]
    for (index, own) in [gate?.assertionField, gate?.clientDataField, gate?.keyIDField].enumerated() {
      guard let own, names.indices.contains(where: { $0 != index && names[$0] == own.value }) else { continue }
      problems.add(own, "another input of this route has the header \"\(own.value)\" too; each needs its own")
    }
  }

  /// The apps that a route admits and where their keys may come from.
  private func admitted(_ written: WrittenRoute, _ apps: ReadApps) -> [String: Set<AttestationEnvironment>] {
    var named = apps.named
    if let list = written.gate?.apps {
      checkDistinct(list)
      named = list.value.compactMap { name in
        let names = apps.named.map(\.identity.description)
        if let index = names.firstIndex(of: name.value) { return apps.named[index] }
        if apps.areAllNamed { problems.add(name, "no app \"\(name.value)\"\(Suggestion.phrase(for: name.value, among: names))") }
        return nil
      }
    }
    var admitted: [String: Set<AttestationEnvironment>] = [:]
    for app in named { admitted[app.identity.description] = app.environments }
    guard let environments = written.gate?.environments else { return admitted }
    checkDistinct(environments)
    let chosen = Set(environments.value.map(\.value))
    for entry in environments.value
    where apps.areAllNamed && !named.isEmpty && !named.contains(where: { $0.environments.contains(entry.value) }) {
      problems.add(entry, "no app of this route allows \(entry.value.rawValue); add it to the app's environments")
    }
    return admitted.mapValues { $0.intersection(chosen) }
  }
}
