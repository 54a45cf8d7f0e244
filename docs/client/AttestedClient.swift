// An HTTP client for an app behind AttestGate: iOS 15, tvOS 15, watchOS 9, visionOS 1, Swift 5.9 or later. Copy it into the app.
//
//   let client = AttestedClient(gate: URL(string: "https://api.example.com")!)
//   let (data, response) = try await client.data(for: request)

import CryptoKit
import DeviceCheck
import Foundation
import Security

/// Sends requests that AttestGate lets through: enrols a key once, signs each request with it, and does what the gate's refusals say.
///
/// Apple wants one key for each user account of a device: give each account's client a `keyName` of its own.
actor AttestedClient {
  /// Why there is no answer of the API.
  enum Failure: Error {
    /// App Attest is not available: the Simulator, most app extensions, a Mac before macOS 27. Ask for what needs no attestation.
    case unsupported
    /// The gate refused, and sending again would not help. `code` says why; `request_id` finds the line in the gate's log.
    case refused(Problem)
    /// The gate had forwarded the request already, and its answer was lost. Look at what came of it before repeating it.
    case alreadyForwarded(Problem)
    /// The body is a stream: it cannot be hashed before it is sent. Use `httpBody`.
    case streamedBody
  }

  /// What the gate says when it refuses: `application/problem+json`.
  struct Problem: Decodable, Sendable {
    /// What an app acts on.
    let code: String
    /// What an app should do: one of eight words.
    let recovery: String
    let detail: String
    let request_id: String
  }

  private let gate: URL
  private let keyName: String
  private let sendsSideBySide: Bool
  private let session: URLSession

  /// The key whose attestation is not finished, so that a later call goes on with the same key and the same hash.
  private var pending: PendingKey?
  private var enrolment: Task<String, any Error>?
  private var isBusy = false
  private var waiting: [CheckedContinuation<Void, Never>] = []

  /// A client of the gate at `gate`, of which only scheme, host and port count.
  ///
  /// `sendsSideBySide` is for routes with `counter: {window: …}`. Under a strict counter a request that overtakes another makes the gate
  /// refuse the other, so requests are sent one after the other unless this is set.
  init(gate: URL, keyName: String = "default", sendsSideBySide: Bool = false, configuration: URLSessionConfiguration = .default) {
    self.gate = gate
    self.keyName = keyName
    self.sendsSideBySide = sendsSideBySide
    session = URLSession(configuration: configuration)
  }

  /// Signs the request, sends it, and gives the API's answer, whatever its status.
  func data(for original: URLRequest) async throws -> (Data, HTTPURLResponse) {
    guard original.httpBodyStream == nil else { throw Failure.streamedBody }
    await begin()
    defer { end() }
    var request = original
    var challenge: String?
    var redirects = 0
    var tries = 0
    var hasEnrolledAnew = false
    while true {
      let key = try await enrolledKey()
      let signed: URLRequest
      do {
        signed = try await sign(request, with: key, challenge: challenge)
      } catch let error as DCError where error.code == .invalidKey && !hasEnrolledAnew {
        // The identifier outlived the key: the app was installed anew, or restored to another device.
        hasEnrolledAnew = true
        forget(key)
        continue
      }
      let (data, response, redirected) = try await send(signed)
      if let redirected {
        redirects += 1
        guard redirects <= 10 else { throw URLError(.httpTooManyRedirects) }
        guard isBehindGate(redirected) else { return try await exchange(redirected) }
        // A redirected request is another request, and is signed as such.
        request = redirected
        challenge = nil
        continue
      }
      guard let problem = Self.problem(data, response) else { return (data, response) }
      challenge = Self.challenge(in: response)
      tries += 1
      switch problem.recovery {
      case "sign_again" where tries < 3, "fetch_challenge" where tries < 3: continue
      case "enroll_again" where !hasEnrolledAnew:
        hasEnrolledAnew = true
        forget(key)
      case "retry_later" where tries < 4 && Self.isSafeToRepeat(request, problem):
        try await Self.pause(before: tries, response)
      case "check_result": throw Failure.alreadyForwarded(problem)
      default: throw Failure.refused(problem)
      }
    }
  }

  /// Enrols a key unless there is one. Calling it at a quiet moment spares the first request the wait.
  @discardableResult
  func enrolledKey() async throws -> String {
    if let key = KeychainItem(keyName).read() { return key }
    if let enrolment { return try await enrolment.value }
    let task = Task { try await enroll() }
    enrolment = task
    defer { enrolment = nil }
    return try await task.value
  }
}

// MARK: - Signing

extension AttestedClient {
  /// What is signed: the request as the gate will see it. The gate reads JSON, so the order and the escapes of JSONEncoder do not matter.
  private struct ClientData: Encodable {
    var challenge: String
    var method: String
    var path: String
    var query: String?
    var bodySHA256: String
  }

  /// The request with its assertion, over a challenge that an earlier refusal brought, or a fresh one.
  private func sign(_ request: URLRequest, with key: String, challenge: String?) async throws -> URLRequest {
    guard let url = request.url else { throw URLError(.badURL) }
    let fresh: String
    if let challenge { fresh = challenge } else { fresh = try await fetchChallenge(at: "/assert/challenge", for: key) }
    let clientData = try JSONEncoder().encode(
      ClientData(
        challenge: fresh, method: request.httpMethod ?? "GET", path: url.path, query: url.query,
        bodySHA256: Self.sha256(request.httpBody ?? Data()).base64EncodedString()))
    let assertion = try await DCAppAttestService.shared.generateAssertion(key, clientDataHash: Self.sha256(clientData))
    var signed = request
    signed.setValue(assertion.base64EncodedString(), forHTTPHeaderField: "X-App-Attest-Assertion")
    signed.setValue(clientData.base64EncodedString(), forHTTPHeaderField: "X-App-Attest-Client-Data")
    signed.setValue(key, forHTTPHeaderField: "X-App-Attest-Key-Id")
    return signed
  }

  /// Sends a signed request. When the connection breaks the same bytes go out once more: the gate forwards one of two copies at most, and
  /// says `assertion_already_accepted` to the other.
  private func send(_ signed: URLRequest) async throws -> (Data, HTTPURLResponse, redirected: URLRequest?) {
    let redirection = Redirection()
    let (data, response): (Data, HTTPURLResponse)
    do {
      (data, response) = try await exchange(signed, redirection)
    } catch let error as URLError where error.code == .networkConnectionLost {
      (data, response) = try await exchange(signed, redirection)
    }
    guard var next = redirection.next else { return (data, response, nil) }
    for name in ["X-App-Attest-Assertion", "X-App-Attest-Client-Data", "X-App-Attest-Key-Id"] {
      next.setValue(nil, forHTTPHeaderField: name)
    }
    next.httpBodyStream = nil
    next.httpBody = next.httpMethod == signed.httpMethod ? signed.httpBody : nil
    return (data, response, next)
  }

  private func exchange(_ request: URLRequest, _ delegate: Redirection? = nil) async throws -> (Data, HTTPURLResponse) {
    let (data, response) = try await session.data(for: request, delegate: delegate)
    guard let response = response as? HTTPURLResponse else { throw URLError(.badServerResponse) }
    return (data, response)
  }

  private func isBehindGate(_ request: URLRequest) -> Bool {
    request.url?.scheme == gate.scheme && request.url?.host == gate.host && request.url?.port == gate.port
  }

  /// Stops a task at a redirect: the session would send the old signature along.
  private final class Redirection: NSObject, URLSessionTaskDelegate, @unchecked Sendable {
    // Written before the task ends, read after.
    private(set) var next: URLRequest?

    func urlSession(
      _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse, newRequest request: URLRequest
    ) async -> URLRequest? {
      next = request
      return nil
    }
  }
}

// MARK: - Enrolling

extension AttestedClient {
  private struct PendingKey {
    let key: String
    var challenge: String
    var challengedAt: Date
    var attestation: Data?
  }

  private struct EnrolmentRequest: Encodable {
    var key_id: String
    var attestation: String
    var challenge: String
  }

  /// The gate's attestation challenges live for 15 minutes unless it is told otherwise (`challenges.attest_ttl`).
  private static let challengeSeconds = 600.0

  /// Makes a key, has Apple attest it, and enrols it. What fails for a moment is tried again with the same key: each new key of a device
  /// makes Apple's risk metric for it worse.
  private func enroll() async throws -> String {
    guard DCAppAttestService.shared.isSupported else { throw Failure.unsupported }
    let (key, challenge, attestation) = try await attestedKey()
    var request = URLRequest(url: endpoint("/attest/verify"))
    request.httpMethod = "POST"
    request.setValue("application/json", forHTTPHeaderField: "Content-Type")
    request.httpBody = try JSONEncoder().encode(
      EnrolmentRequest(
        key_id: key, attestation: attestation.base64EncodedString(), challenge: Data(challenge.utf8).base64EncodedString()))
    for attempt in 1... {
      // An enrolment may be sent as often as one likes: the gate answers a copy as it answered the first.
      let (data, response) = try await exchange(request)
      let problem = Self.problem(data, response)
      if problem == nil ? response.statusCode == 200 : problem?.recovery == "use_key" { break }
      if problem?.recovery == "retry_later", attempt < 4 {
        try await Self.pause(before: attempt, response)
        continue
      }
      // A key that is refused for good is of no more use; any other is kept for the next call.
      guard let problem else { throw URLError(.badServerResponse) }
      if problem.recovery != "retry_later" { pending = nil }
      throw Failure.refused(problem)
    }
    KeychainItem(keyName).write(key)
    pending = nil
    return key
  }

  private func attestedKey() async throws -> (key: String, challenge: String, attestation: Data) {
    let service = DCAppAttestService.shared
    var next: PendingKey
    if let pending {
      next = pending
    } else {
      let key = try await service.generateKey()
      next = PendingKey(key: key, challenge: try await fetchChallenge(at: "/attest/challenge"), challengedAt: Date())
    }
    if let attestation = next.attestation { return (next.key, next.challenge, attestation) }
    if Date().timeIntervalSince(next.challengedAt) > Self.challengeSeconds {
      next.challenge = try await fetchChallenge(at: "/attest/challenge")
      next.challengedAt = Date()
    }
    pending = next
    var attempt = 1
    while true {
      do {
        let attestation = try await service.attestKey(next.key, clientDataHash: Self.sha256(Data(next.challenge.utf8)))
        next.attestation = attestation
        pending = next
        return (next.key, next.challenge, attestation)
      } catch let error as DCError where error.code == .serverUnavailable && attempt < 4 {
        // Apple: try later, with the same key and the same hash.
        try await Self.pause(before: attempt)
        attempt += 1
      } catch {
        // Apple: any other failure spoils the key. The one that is merely late is kept for the next call.
        if (error as? DCError)?.code != .serverUnavailable { pending = nil }
        throw error
      }
    }
  }

  private func forget(_ key: String) {
    // Another request may have enrolled a new key meanwhile.
    let item = KeychainItem(keyName)
    if item.read() == key { item.delete() }
  }
}

// MARK: - What the gate says

extension AttestedClient {
  /// A fresh challenge; one for assertions is good for this key alone.
  private func fetchChallenge(at path: String, for key: String? = nil) async throws -> String {
    var request = URLRequest(url: endpoint(path), cachePolicy: .reloadIgnoringLocalCacheData)
    if let key { request.setValue(key, forHTTPHeaderField: "X-App-Attest-Key-Id") }
    var attempt = 1
    while true {
      let (data, response) = try await exchange(request)
      if response.statusCode == 200 { return String(decoding: data, as: UTF8.self) }
      guard let problem = Self.problem(data, response) else { throw URLError(.badServerResponse) }
      guard problem.recovery == "retry_later", attempt < 4 else { throw Failure.refused(problem) }
      try await Self.pause(before: attempt, response)
      attempt += 1
    }
  }

  /// The gate's refusal; nil for an answer of the API, which may have problem documents of its own.
  private static func problem(_ data: Data, _ response: HTTPURLResponse) -> Problem? {
    struct Kind: Decodable { let type: String }
    guard response.statusCode >= 400, response.value(forHTTPHeaderField: "Content-Type") == "application/problem+json",
      let kind = try? JSONDecoder().decode(Kind.self, from: data), kind.type.hasPrefix("urn:attestgate:problem:")
    else { return nil }
    return try? JSONDecoder().decode(Problem.self, from: data)
  }

  /// The fresh challenge of `WWW-Authenticate: AppAttest challenge="…"`, with every 401 of a gated route.
  private static func challenge(in response: HTTPURLResponse) -> String? {
    guard let value = response.value(forHTTPHeaderField: "WWW-Authenticate") else { return nil }
    let parts = value.components(separatedBy: "\"")
    return parts.count == 3 && parts[0] == "AppAttest challenge=" ? parts[1] : nil
  }

  /// What the gate itself refused was not forwarded. What failed behind it may have been carried out.
  private static func isSafeToRepeat(_ request: URLRequest, _ problem: Problem) -> Bool {
    if ["store_unavailable", "overloaded", "rate_limited"].contains(problem.code) { return true }
    return ["GET", "HEAD", "PUT", "DELETE", "OPTIONS"].contains(request.httpMethod ?? "GET")
  }

  /// Waits as long as `Retry-After` says, or 1, 2, 4 seconds, and a little longer so that devices do not come back all at once.
  private static func pause(before attempt: Int, _ response: HTTPURLResponse? = nil) async throws {
    let asked = response?.value(forHTTPHeaderField: "Retry-After").flatMap(Double.init) ?? 0
    let seconds = max(asked, Double(1 << (attempt - 1))) * Double.random(in: 1...1.5)
    try await Task.sleep(nanoseconds: UInt64(min(seconds, 30) * 1_000_000_000))
  }

  private static func sha256(_ data: Data) -> Data { Data(SHA256.hash(data: data)) }

  private func endpoint(_ path: String) -> URL { URL(string: path, relativeTo: gate)!.absoluteURL }
}

// MARK: - One request after the other

extension AttestedClient {
  private func begin() async {
    guard !sendsSideBySide else { return }
    if isBusy { await withCheckedContinuation { waiting.append($0) } }
    isBusy = true
  }

  private func end() {
    guard !sendsSideBySide else { return }
    if waiting.isEmpty { isBusy = false } else { waiting.removeFirst().resume() }
  }
}

// MARK: - What is remembered

extension AttestedClient {
  /// Keeps the key's identifier, which is no secret but must outlive the process. The key itself never leaves the Secure Enclave.
  private struct KeychainItem {
    private let query: [String: Any]

    init(_ name: String) {
      query = [
        kSecClass as String: kSecClassGenericPassword, kSecAttrService as String: "AttestGate", kSecAttrAccount as String: name,
      ]
    }

    func read() -> String? {
      var item: CFTypeRef?
      let asked = query.merging([kSecReturnData as String: true]) { $1 }
      guard SecItemCopyMatching(asked as CFDictionary, &item) == errSecSuccess, let data = item as? Data else { return nil }
      return String(decoding: data, as: UTF8.self)
    }

    func write(_ text: String) {
      delete()
      let item: [String: Any] = [
        kSecValueData as String: Data(text.utf8), kSecAttrAccessible as String: kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly,
      ]
      _ = SecItemAdd(query.merging(item) { $1 } as CFDictionary, nil)
    }

    func delete() { _ = SecItemDelete(query as CFDictionary) }
  }
}
