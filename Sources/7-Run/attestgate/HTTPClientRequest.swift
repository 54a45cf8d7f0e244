import SimulatedDevice
import TLS

/// A request as a command sends it, over a connection of its own that ends with the answer.
struct HTTPClientRequest: Sendable {
  var method = "GET"
  var url: RequestURL
  var fields: [HeaderLine] = []
  var body: [UInt8] = []
  /// Whom an `https` server is verified against.
  var trust: TLSClientIdentity?

  init(_ url: RequestURL, trust: TLSClientIdentity? = nil) {
    self.url = url
    self.trust = trust
  }

  /// Whether there is a field of this name.
  func has(_ name: String) -> Bool { fields.contains { $0.name.lowercased() == name.lowercased() } }

  /// Request line and fields, with the empty line that ends them.
  var head: String {
    var lines = ["\(method) \(url.target) HTTP/1.1"]
    if !has("Host") { lines.append("Host: \(url.authority)") }
    if !has("User-Agent") { lines.append("User-Agent: attestgate/\(Version.number)") }
    if !has("Accept") { lines.append("Accept: */*") }
    if !body.isEmpty || ["POST", "PUT", "PATCH"].contains(method) { lines.append("Content-Length: \(body.count)") }
    lines.append("Connection: close")
    return (lines + fields.map { "\($0.name): \($0.value)" }).joined(separator: "\r\n") + "\r\n\r\n"
  }
}

/// What came back.
struct HTTPClientAnswer: Sendable {
  var status: Int
  /// Status line and fields as they came.
  var head: String
  var body: [UInt8]

  var isSuccess: Bool { (200..<300).contains(status) }
  var statusLine: Substring { head.prefix { $0 != "\r\n" } }
  /// The body for a person: what is no UTF-8 becomes U+FFFD.
  var text: String { String(decoding: body, as: UTF8.self) }
}

/// Why no answer came back.
enum HTTPClientFailure: Error, Equatable, CustomStringConvertible {
  case noAddress(host: String)
  case notConnected(place: String, errno: Int32)
  case notSecured(place: String, reason: String)
  case timedOut(place: String)
  case brokenOff(place: String)
  case malformed(String)
  case tooLarge(bytesMax: Int)

  var description: String {
    switch self {
    case .noAddress(let host): "\(host) has no address"
    case .notConnected(let place, 111): "\(place) refuses connections: is the gate running?"
    case .notConnected(let place, let errno): "\(place) cannot be reached (errno \(errno))"
    case .notSecured(let place, let reason): "\(place): no TLS with the server: \(reason); --ca FILE names the authority of its certificate"
    case .timedOut(let place): "\(place) does not answer in time"
    case .brokenOff(let place): "\(place) closed the connection in the middle"
    case .malformed(let reason): "the answer is no HTTP: \(reason)"
    case .tooLarge(let bytesMax): "the answer is larger than \(bytesMax) bytes"
    }
  }
}
