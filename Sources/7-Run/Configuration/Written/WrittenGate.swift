import AppAttest
import Gate
import Store

/// `gate:` of a route.
struct WrittenGate {
  var mode: Placed<GatePolicy.Mode>?
  var apps: Placed<[Placed<String>]>?
  var environments: Placed<[Placed<AttestationEnvironment>]>?
  var binding: Placed<[Placed<GatePolicy.Binding>]>?
  var bindsQuery: Placed<Bool>?
  var pathForm: Placed<GatePolicy.PathForm>?
  var clientData: Placed<GatePolicy.ClientDataProfile>?
  var requiresKeyID: Placed<Bool>?
  var counter: Placed<CounterRule>?
  var bodyMax: Placed<Int>?
  var bodyMemory: Placed<Int>?
  var admitsOnStoreFailure: Placed<Bool>?
  var assertionField: Placed<String>?
  var clientDataField: Placed<String>?
  var keyIDField: Placed<String>?
  var keepsFields: Placed<Bool>?
  var marksPrivate: Placed<Bool>?

  /// A lone word stands for the mode.
  init(_ mode: Placed<GatePolicy.Mode>) { self.mode = mode }

  init(_ section: Section) {
    mode = section.value("mode", Self.mode)
    apps = section.list("apps") { $0 }
    environments = section.list("environments", WrittenApp.environment)
    binding = section.list("bind", oneOf([("method", .method), ("path", .path), ("body", .body), ("host", .host)]))
    bindsQuery = section.value("query", oneOf([("bound", true), ("unbound", false)]))
    pathForm = section.value("path_form", oneOf([("decoded", .decoded), ("encoded", .encoded)]))
    clientData = section.value("client_data", oneOf([("json", .json), ("body", .body)]))
    requiresKeyID = section.value("key_id", oneOf([("optional", false), ("required", true)]))
    counter = Self.counter(section)
    bodyMax = section.value("max_body", Quantity.size(0...1 << 30))
    bodyMemory = section.value("body_memory", Quantity.size(0...16 << 20))
    admitsOnStoreFailure = section.value("on_store_failure", oneOf([("reject", false), ("allow", true)]))
    let headers = section.section("headers")
    assertionField = headers?.value("assertion", FieldText.input)
    clientDataField = headers?.value("client_data", FieldText.input)
    keyIDField = headers?.value("key_id", FieldText.input)
    headers?.finish()
    keepsFields = section.value("keep_headers", Quantity.flag)
    marksPrivate = section.value("cache", oneOf([("private", true), ("keep", false)]))
    section.finish()
  }

  static func mode(_ text: String) throws(Wrong) -> GatePolicy.Mode {
    try oneOf([("enforce", .enforce), ("monitor", .monitor), ("off", .off)])(text)
  }

  /// `strict`, or `{window: 64}`.
  private static func counter(_ section: Section) -> Placed<CounterRule>? {
    let counter = section.wordOrSection("counter") { (text: String) throws(Wrong) -> CounterRule in
      guard text == "strict" else { throw Wrong("must be strict or {window: 1 to 1024}, and is \"\(text)\"") }
      return .strict
    }
    guard let inner = counter.section else { return counter.word }
    let window = inner.value("window", Quantity.number(1...1_024))
    if !inner.has("window") { inner.missing("window", "write how many counters may be late, such as {window: 64}") }
    inner.finish()
    return window.map { Placed(value: .window($0.value), place: $0.place, path: $0.path) }
  }
}
