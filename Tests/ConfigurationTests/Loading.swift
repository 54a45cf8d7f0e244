import Configuration
import Cryptography
import Fixtures
import Testing

/// Seconds since 1970 of the tests' environment.
let now = 1_790_000_000

/// A line of a configuration that loads; a test replaces one of them or adds some.
let soundLines = [
  "store: {memory: {}}",
  "apps: [{team_id: ABCDE12345, bundle_id: com.example.shop}]",
  "upstreams: {orders: {servers: [\"http://127.0.0.1:9000\"]}}",
  "routes: [{path: /**, upstream: orders}]",
]

/// The sound configuration with the top-level key of `line` replaced, or added behind it.
func sound(_ lines: String...) -> String {
  var all = soundLines
  for line in lines {
    let key = line.prefix { $0 != ":" }
    if let index = all.firstIndex(where: { $0.hasPrefix(key + ":") }) { all[index] = line } else { all.append(line) }
  }
  return all.joined(separator: "\n") + "\n"
}

func environment(_ variables: [String: String] = [:]) -> ConfigurationEnvironment {
  ConfigurationEnvironment(variable: { variables[$0] }, processorCount: 3, unixSeconds: now)
}

func load(_ text: String, file: String = "proxy.yaml", variables: [String: String] = [:]) throws(ConfigurationFailure) -> Configuration {
  try ConfigurationLoader.load(text: Array(text.utf8), file: file, environment: environment(variables))
}

/// `line:column: path: message` of each problem; empty when the text loads.
func problems(_ text: String, file: String = "proxy.yaml", variables: [String: String] = [:]) -> [String] {
  do throws(ConfigurationFailure) {
    _ = try load(text, file: file, variables: variables)
    return []
  } catch {
    return error.problems.map { String($0.description.dropFirst(file.utf8.count + 1)) }
  }
}

/// As `problems`, of the warnings.
func warnings(_ text: String, file: String = "proxy.yaml") throws -> [String] {
  try load(text, file: file).warnings.map { String($0.description.dropFirst(file.utf8.count + 1)) }
}

/// A folder as `scripts/run` leaves it: the example's private root lies where proxy.yaml looks for it.
func folderWithRoot() throws -> TemporaryFolder {
  let folder = try TemporaryFolder()
  let template = CertificateTemplate(
    subject: [.init("CN", "Test Authority")], notBefore: now - 86_400, notAfter: now + 86_400, constraints: .authority(pathLengthMax: nil),
    keyUsage: [.keyCertSign, .cRLSign])
  try folder.write(CertificateIssuer.selfSigned(template, key: .generate()).certificate.pem, to: "root.pem")
  return folder
}
