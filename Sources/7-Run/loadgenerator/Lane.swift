import AppAttest
import Bytes
import EventLoop
import SimulatedDevice

/// One connection's share of the load: its keys, which no other lane uses, and its requests in the order of their counters.
final class Lane {
  private let options: SendOptions
  private let connection: ClientConnection
  private let besideConnection: ClientConnection?
  private var devices: [SimulatedDevice] = []
  private var turn = 0
  private var batch: RequestBatch
  /// Answers since the last call of ``takeTally()``.
  private var tally = Tally()

  init(_ options: SendOptions, on loop: EventLoop) async throws(LoadFailure) {
    self.options = options
    batch = RequestBatch(body: [])
    let gate = options.gate.url
    connection = try await ClientConnection.open(to: gate.host, port: gate.port, on: loop)
    if let url = options.beside?.url {
      besideConnection = try await ClientConnection.open(to: url.host, port: url.port, on: loop)
    } else {
      besideConnection = nil
    }
  }

  /// Makes `count` devices and enrols them at the gate.
  func enrol(_ count: Int, authority: SimulatedAuthority) async throws(LoadFailure) {
    for _ in 0..<count {
      let device = SimulatedDevice(app: options.app)
      let challenge = try await fetch("/attest/challenge")
      let object: [UInt8]
      do throws(DeviceFailure) {
        object = try device.attest(challenge: challenge, authority: authority, at: WallClock.unixSeconds)
      } catch {
        throw LoadFailure("no attestation could be made: \(error)")
      }
      let json =
        "{\"key_id\":\"\(device.keyIdentifier.base64)\",\"attestation\":\"\(Base64.encode(object.span))\","
        + "\"challenge\":\"\(Base64.encode(challenge.span))\"}"
      let head = "POST /attest/verify HTTP/1.1\r\nHost: \(options.gate.url.authority)\r\nContent-Type: application/json\r\n"
      try await ask(head + "Content-Length: \(json.utf8.count)\r\n\r\n" + json, what: "the enrolment")
      devices.append(device)
    }
  }

  /// Makes `count` requests, each signed over a challenge of its own unless the load is unsigned.
  func prepare(_ count: Int) async throws(LoadFailure) {
    batch = RequestBatch(body: [UInt8](repeating: UInt8(ascii: "x"), count: options.bodyByteCount))
    let url = options.gate.url
    for _ in 0..<count {
      var head = "\(options.method) \(url.target) HTTP/1.1\r\nHost: \(url.authority)\r\n"
      if options.authority != nil {
        for line in try await signature(of: url) { head += "\(line.name): \(line.value)\r\n" }
      }
      if options.bodyByteCount > 0 {
        head += "Content-Type: application/octet-stream\r\nContent-Length: \(options.bodyByteCount)\r\n"
      }
      batch.append(head: head + "\r\n")
    }
  }

  /// The header fields of the next request, by the key whose turn it is.
  private func signature(of url: RequestURL) async throws(LoadFailure) -> [HeaderLine] {
    var signing = SigningOptions()
    signing.namesKey = options.namesKey
    let challenge = String(decoding: try await fetch("/assert/challenge"), as: UTF8.self)
    let device = devices[options.usesOneKey ? 0 : turn]
    turn = (turn + 1) % devices.count
    return device.sign(method: options.method, url: url, body: batch.body, challenge: challenge, options: signing)
  }

  /// Sends the first `count` prepared requests, to the gate or to the proxy beside it.
  func send(_ count: Int, beside: Bool) async throws(LoadFailure) {
    guard let connection = beside ? besideConnection : connection else { return }
    for index in 0..<min(count, batch.count) {
      batch.append(index, to: connection)
      let status = try await connection.exchange()
      tally.count(status, connection.body)
    }
  }

  /// The answers so far, and begins anew.
  func takeTally() -> Tally {
    defer { tally = Tally() }
    return tally
  }

  private func fetch(_ path: String) async throws(LoadFailure) -> [UInt8] {
    try await ask("GET \(path) HTTP/1.1\r\nHost: \(options.gate.url.authority)\r\n\r\n", what: path)
    return connection.body
  }

  private func ask(_ request: String, what: String) async throws(LoadFailure) {
    connection.append(Array(request.utf8).span)
    let status = try await connection.exchange()
    guard status == 200 else { throw LoadFailure("\(what) was answered \(status): \(String(decoding: connection.body, as: UTF8.self))") }
  }
}

/// Answers by status.
struct Tally {
  private(set) var succeeded = 0
  /// Statuses other than 200.
  private(set) var others: [Int: Int] = [:]
  /// The first of those answers, for people.
  private(set) var firstOther: String?

  mutating func count(_ status: Int, _ body: [UInt8]) {
    if status == 200 {
      succeeded += 1
    } else {
      others[status, default: 0] += 1
      firstOther = firstOther ?? String(decoding: body, as: UTF8.self)
    }
  }

  mutating func add(_ other: Tally) {
    succeeded += other.succeeded
    others.merge(other.others) { $0 + $1 }
    firstOther = firstOther ?? other.firstOther
  }
}
