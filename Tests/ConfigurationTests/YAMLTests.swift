import Configuration
import Testing

@Suite struct YAMLTests {
  @Test(arguments: [
    ("", "1:1: the file configures nothing; begin with a copy of the example proxy.yaml"),
    ("# nothing\n", "1:1: the file configures nothing; begin with a copy of the example proxy.yaml"),
    ("a: [1\n", "2:1: is not YAML: did not find expected ',' or ']' while parsing a flow sequence"),
    (
      "a:\n\tb: 1\n",
      "2:1: is not YAML: found character that cannot start any token while scanning for the next token; indent with spaces, not with tabs"
    ),
    ("a: *b\n", "1:4: no anchor \"&b\" stands before this alias"),
    ("a: &a [*a]\n", "1:8: no anchor \"&a\" stands before this alias"),
    ("a: 1\n---\nb: 2\n", "1:1: holds more than one document; write one, without a second \"---\""),
    ("a: !!binary aGk=\n", "1:4: the tag \"tag:yaml.org,2002:binary\" has no meaning here; remove it"),
    ("a: !python/object x\n", "1:4: the tag \"!python/object\" has no meaning here; remove it"),
    ("[a]: 1\n", "1:1: a key must be a text, and this is a list"),
    ("- a\n", "1:1: must be a section of keys and values, and is a list"),
    ("a", "1:1: must be a section of keys and values, and is a text"),
  ])
  func whatIsNoDocumentOfOursIsRefused(text: String, problem: String) {
    #expect(problems(text) == [problem])
  }

  @Test func bytesThatAreNoUTF8AreRefused() {
    #expect(throws: ConfigurationFailure.self) {
      try ConfigurationLoader.load(text: [0x61, 0x3A, 0x20, 0xFF, 0x0A], file: "proxy.yaml", environment: environment())
    }
  }

  @Test func nestingIsBounded() {
    #expect(problems("a: " + String(repeating: "[", count: 40) + String(repeating: "]", count: 40)) == ["1:35: lies deeper than 32 levels"])
    #expect(problems(String(repeating: "[", count: 100_000)).count == 1)
  }

  @Test func sizeIsBounded() {
    #expect(problems("a: " + String(repeating: "b", count: 1 << 20)) == ["1:1: is longer than 1 MiB"])
    #expect(
      problems("a: [" + String(repeating: "b,", count: 30_000) + "]") == [
        "1:39999: holds more than 20000 values, aliases counted as what they stand for"
      ])
  }

  @Test func aliasesCannotBlowUp() {
    var text = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n"
    for level in 1...9 { text += "a\(level): &a\(level) [" + Array(repeating: "*a\(level - 1)", count: 9).joined(separator: ", ") + "]\n" }
    #expect(problems(text).first?.hasSuffix("holds more than 20000 values, aliases counted as what they stand for") == true)
  }

  @Test func anAliasStandsForItsValue() throws {
    let text = """
      store: {memory: {}}
      apps: [{team_id: ABCDE12345, bundle_id: com.example.shop}]
      upstreams:
        a: &a {servers: ["http://127.0.0.1:9000"], connect_timeout: 1s}
        b: *a
      routes:
        - {path: /a, upstream: b, gate: &gate {counter: {window: 8}}}
        - {path: /b, upstream: b, gate: *gate}
      """
    let configuration = try load(text)
    #expect(configuration.upstreams.map(\.connectTimeoutMilliseconds) == [1_000, 1_000])
    #expect(configuration.routes.map(\.policy.counter) == [.window(8), .window(8)])
  }

  @Test func variablesAreTakenFromTheEnvironmentAfterParsing() throws {
    let text = sound(
      "upstreams: {orders: {servers: [\"http://${HOST}:${PORT}\"], request_headers: {set: {A: \"Bearer ${TOKEN}\", B: \"$${x}\", C: $1}}}}")
    let upstream = try load(text, variables: ["HOST": "h", "PORT": "81", "TOKEN": "a: [b, \"c\"]"]).upstreams[0]
    #expect(upstream.servers == [.init(host: "h", port: 81)])
    #expect(upstream.requestFieldsSet.map(\.value) == ["Bearer a: [b, \"c\"]", "${x}", "$1"])
  }

  @Test(arguments: [
    ("workers: ${MISSING}", "5:10: workers: the environment has no variable MISSING; set it before the gate starts"),
    ("workers: \"${A\"", "5:10: workers: \"${\" begins a variable, as in ${NAME}; write $${ for the characters themselves"),
    ("workers: \"${A-b}\"", "5:10: workers: \"${\" begins a variable, as in ${NAME}; write $${ for the characters themselves"),
    ("workers: \"${}\"", "5:10: workers: \"${\" begins a variable, as in ${NAME}; write $${ for the characters themselves"),
    ("workers: \"${1}\"", "5:10: workers: \"${\" begins a variable, as in ${NAME}; write $${ for the characters themselves"),
  ])
  func aVariableThatIsNoneIsAProblem(line: String, problem: String) {
    #expect(problems(sound(line)).contains(problem))
  }

  @Test func aLineBreakFromAVariableReachesNoHeader() {
    let text = sound("upstreams: {orders: {servers: [\"http://h\"], request_headers: {set: {A: \"${TOKEN}\"}}}}")
    #expect(problems(text, variables: ["TOKEN": "a\r\nHost: b"]).count == 1)
  }
}
