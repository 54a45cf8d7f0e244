import AppAttest
import Bytes
import Cryptography
import Foundation
import Testing

@testable import SimulatedDevice

@Suite struct ClientDataTests {
  /// Foundation's encoder is what apps use.
  @Test(arguments: [
    "/v1/orders", "", "a\"b\\c", "tab\tline\nreturn\rbell\u{7}nul\u{0}", "caf\u{E9} \u{1F600}", "\u{2028}", "\u{7F}", "\u{8}\u{C}\u{1F}",
  ])
  func textIsEscapedAsByJSONEncoder(text: String) throws {
    var clientData = ClientData()
    clientData.path = text
    #expect(clientData.encoded == Array(try JSONEncoder().encode(["path": text])))
  }

  @Test func membersAreThoseThatAreSet() {
    var clientData = ClientData()
    #expect(clientData.encoded == Array("{}".utf8))
    clientData.bodySHA256 = "a/b="
    clientData.challenge = "c"
    clientData.keyIdentifier = "k"
    #expect(String(decoding: clientData.encoded, as: UTF8.self) == #"{"challenge":"c","bodySHA256":"a\/b=","keyId":"k"}"#)
  }

  @Test(
    arguments: [
      ("http://gate.example", "gate.example", 80, "gate.example", "/", nil, "/"),
      ("http://gate.example:80/a", "gate.example", 80, "gate.example", "/a", nil, "/a"),
      ("http://gate.example:8080/a/b/?c=d&e=/f", "gate.example", 8080, "gate.example:8080", "/a/b/", "c=d&e=/f", "/a/b"),
      ("http://[::1]:9000?q", "::1", 9000, "[::1]:9000", "/", "q", "/"),
      ("http://[::1]/x?", "::1", 80, "[::1]", "/x", "", "/x"),
      ("HTTP://Gate/caf%C3%A9%2Fx+y", "Gate", 80, "Gate", "/caf%C3%A9%2Fx+y", nil, "/caf\u{E9}/x+y"),
      ("https://gate.example/a", "gate.example", 443, "gate.example", "/a", nil, "/a"),
      ("HTTPS://gate.example:8443", "gate.example", 8443, "gate.example:8443", "/", nil, "/"),
    ] as [(String, String, UInt16, String, String, String?, String)])
  func aURLIsTakenApart(
    text: String, host: String, port: UInt16, authority: String, path: String, query: String?, decodedPath: String
  ) throws {
    let url = try #require(RequestURL(text))
    #expect([url.host, url.authority, url.path, url.decodedPath] == [host, authority, path, decodedPath])
    #expect(url.port == port)
    #expect(url.isSecure == text.lowercased().hasPrefix("https"))
    #expect(url.query == query)
    #expect(url.target == path + (query.map { "?" + $0 } ?? ""))
    #expect(url.at(target: url.target) == url)
  }

  @Test(arguments: [
    "", "gate.example", "ftp://gate.example", "https://", "http://", "http:///a", "http://user@gate/", "http://gate/#f", "http://gate:0/",
    "http://gate:65536/",
    "http://gate:x/", "http://[::1", "http://[::1]x/", "http://gate/a b", "http://gate/a\r\nHost: b", "http://gate/\u{E9}",
  ])
  func whatThisClientCannotAskForIsNoURL(text: String) {
    #expect(RequestURL(text) == nil)
  }

  @Test func aSignedRequestBindsWhatTheGateCompares() throws {
    let device = SimulatedDevice(app: SimulatedDeviceTests.app)
    let url = try #require(RequestURL("http://Gate:8080/v1/caf%C3%A9/?a=1"))
    let body = Array("{}".utf8)
    var options = SigningOptions()
    options.bindsHost = true
    let lines = device.sign(method: "POST", url: url, body: body, challenge: "abc", options: options)
    #expect(lines.map(\.name) == ["X-App-Attest-Assertion", "X-App-Attest-Client-Data", "X-App-Attest-Key-Id"])
    #expect(lines[2].value == device.keyIdentifier.base64)
    let clientData = try #require(Base64.decode(lines[1].value, maximum: 4096))
    let members = try JSONDecoder().decode([String: String].self, from: Data(clientData))
    let bodyDigest = Base64.encode(digest(body).bytes.span)
    #expect(
      members == [
        "challenge": "abc", "method": "POST", "path": "/v1/caf\u{E9}", "query": "a=1", "host": "gate:8080", "bodySHA256": bodyDigest,
      ])
    options.bindsEncodedPath = true
    options.namesKey = false
    let others = device.sign(method: "GET", url: url.at(target: "/a%2Fb?"), body: [], challenge: "abc", options: options)
    #expect(others.count == 2)
    let otherData = try #require(Base64.decode(others[1].value, maximum: 4096))
    let otherMembers = try JSONDecoder().decode([String: String].self, from: Data(otherData))
    #expect(otherMembers["path"] == "/a%2Fb")
    #expect(otherMembers["query"] == nil)
    // Of nothing.
    #expect(otherMembers["bodySHA256"] == "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=")
  }

  @Test func theBodyProfileSignsTheBodyAlone() throws {
    let device = SimulatedDevice(app: SimulatedDeviceTests.app)
    var options = SigningOptions()
    options.profile = .body
    let body = Array("{}".utf8)
    let lines = device.sign(method: "POST", url: try #require(RequestURL("http://gate/")), body: body, challenge: nil, options: options)
    #expect(lines.map(\.name) == ["X-App-Assertion", "X-App-Attest-Key-Id"])
    let bytes = try #require(Base64.decode(lines[0].value, maximum: 1024))
    let assertion = try assertionObject(bytes)
    let nonce = assertion.nonce(clientDataHash: digest(body)).bytes
    let signers = PublicKeyRecovery().candidates(signature: assertion.signature, message: nonce.span).map(\.digest)
    #expect(signers.contains(device.keyIdentifier.digest))
  }
}
