import AppAttest
import Bytes
import Cryptography
import HTTP
import Testing

@testable import Gate

@Suite struct ClientDataTests {
  private static func parse(_ json: [UInt8]) -> Result<ClientData, ClientData.Failure> {
    do throws(ClientData.Failure) { return .success(try ClientData(json: json.span)) } catch { return .failure(error) }
  }

  private static func parse(_ json: String) -> Result<ClientData, ClientData.Failure> { parse(Array(json.utf8)) }

  private static func challenge(_ json: String) -> [UInt8]? { try? read(json).challenge }

  /// The strings that a text holds, decoded.
  private struct Strings {
    var challenge, method, path, query, host: [UInt8]?
    var bodyDigest: SHA256Digest?
    var keyIdentifier: KeyIdentifier?
  }

  private static func read(_ json: String) throws -> Strings {
    let text = Array(json.utf8)
    let data = try parse(text).get()
    func decoded(_ string: JSONString?) -> [UInt8]? { string?.decoded(in: text.span) }
    return Strings(
      challenge: decoded(data.challenge), method: decoded(data.method), path: decoded(data.path), query: decoded(data.query),
      host: decoded(data.host), bodyDigest: data.bodyDigest, keyIdentifier: data.keyIdentifier)
  }

  @Test func everyNamedMemberIsRead() throws {
    let digest = SHA256Digest([UInt8](repeating: 7, count: 32).span)
    let base64 = Base64.encode([UInt8](repeating: 7, count: 32).span)
    let json = """
      {"challenge":"c", "method" : "POST","path":"/v1","query":"a=b","host":"h.example","bodySHA256":"\(base64)","keyId":"\(base64)"}
      """
    let data = try Self.read(json)
    #expect(data.challenge == Array("c".utf8))
    #expect(data.method == Array("POST".utf8))
    #expect(data.path == Array("/v1".utf8))
    #expect(data.query == Array("a=b".utf8))
    #expect(data.host == Array("h.example".utf8))
    #expect(data.bodyDigest == digest)
    #expect(data.keyIdentifier?.digest == digest)
  }

  @Test(
    arguments: [
      (#"{}"#, nil), (#" { } "#, nil), (#"{"challenge":""}"#, ""),
      // JSONEncoder escapes every slash.
      (#"{"challenge":"a\/b"}"#, "a/b"),
      (#"{"challenge":"\"\\\/\b\f\n\r\t"}"#, "\"\\/\u{8}\u{C}\n\r\t"),
      (#"{"challenge":"\u00e9\u00E9\u20AC"}"#, "éé€"),
      (#"{"challenge":"\ud83d\uDE00"}"#, "😀"), (#"{"challenge":"\uDBFF\uDFFF"}"#, "\u{10FFFF}"),
      (#"{"challenge":"é€😀"}"#, "é€😀"),
      (#"{"challenge":"a\u0000b"}"#, "a\u{0}b"),
      // A name may be escaped as well as a value.
      (#"{"\u0063hallenge":"x"}"#, "x"),
      // Members with other names are ignored, whatever they hold.
      (#"{"other":{"challenge":"no"},"challenge":"x","n":[1,-0,0.5,1e9,-2.5E-3,1E+2,true,false,null,"",{},[]]}"#, "x"),
      (#"{"Challenge":"no","challenge ":"no"}"#, nil),
      ("\t\r\n{\t\r\n\"challenge\"\t\r\n:\t\r\n\"x\"\t\r\n}\t\r\n", "x"),
    ] as [(String, String?)])
  func wellFormedClientDataIsRead(json: String, challenge: String?) throws {
    #expect(try Self.read(json).challenge == challenge.map { Array($0.utf8) })
  }

  @Test(arguments: [
    // No object, or more than one.
    "", " ", "null", "[]", #""challenge""#, "1", "{", "}", #"{"challenge":"x""#, #"{"challenge":"x"}}"#, #"{"challenge":"x"} {}"#,
    #"{"challenge":"x"}x"#, #"{"challenge":"x",}"#, #"{,"challenge":"x"}"#, #"{"challenge" "x"}"#, #"{"challenge":}"#, #"{challenge:"x"}"#,
    #"{'challenge':'x'}"#, #"{"challenge":"x" "method":"GET"}"#, "{\"challenge\":\"x\"}\u{0}", "\u{FEFF}{}", #"{"a"}"#, #"{1:2}"#,
    // Strings.
    #"{"challenge":"x}"#, #"{"challenge":"\x"}"#, #"{"challenge":"\u12"}"#, #"{"challenge":"\u12g4"}"#, #"{"challenge":"\U0041"}"#,
    #"{"challenge":"\"#, #"{"challenge":"\""#, "{\"challenge\":\"a\nb\"}", "{\"challenge\":\"a\u{1F}b\"}", "{\"challenge\":\"a\u{0}b\"}",
    // Half of a surrogate pair, in a value or a name, of ours or another's.
    #"{"challenge":"\ud83d"}"#, #"{"challenge":"\ude00"}"#, #"{"challenge":"\ud83dx"}"#, #"{"challenge":"\ud83d\u0041"}"#,
    #"{"challenge":"\ud83d\ud83d"}"#, #"{"challenge":"\ude00\ud83d"}"#, #"{"other":"\ud83d"}"#, #"{"\ude00":1}"#,
    // Members that come twice, also when written in another way.
    #"{"challenge":"x","challenge":"x"}"#, #"{"challenge":"x","\u0063hallenge":"y"}"#, #"{"a":1,"a":2}"#, #"{"a":1,"\u0061":2}"#,
    #"{"a":{"b":1,"b":1}}"#, #"{"a":[{"b":1,"b":1}]}"#,
    // A named member that is no string.
    #"{"challenge":null}"#, #"{"challenge":1}"#, #"{"challenge":["x"]}"#, #"{"method":{}}"#, #"{"path":true}"#, #"{"query":null}"#,
    #"{"keyId":null}"#, #"{"bodySHA256":1}"#,
    // Numbers and words that JSON does not have.
    #"{"a":01}"#, #"{"a":+1}"#, #"{"a":.5}"#, #"{"a":1.}"#, #"{"a":1e}"#, #"{"a":1e+}"#, #"{"a":-}"#, #"{"a":--1}"#, #"{"a":0x1}"#,
    #"{"a":NaN}"#, #"{"a":Infinity}"#, #"{"a":-Infinity}"#, #"{"a":True}"#, #"{"a":nul}"#, #"{"a":undefined}"#, #"{"a":1_0}"#,
    // Comments and other inventions.
    #"{/**/"a":1}"#, "{\"a\":1}//", #"{"a":[1,]}"#, #"{"a":[,1]}"#, #"{"a":[1 2]}"#, #"{"a":[}"#, #"{"a":{]}"#,
    // Neither base64 nor hexadecimal of 32 bytes.
    #"{"bodySHA256":""}"#, #"{"bodySHA256":"AAAA"}"#,
    #"{"bodySHA256":"zz00000000000000000000000000000000000000000000000000000000000000"}"#,
  ])
  func anythingElseIsMalformed(json: String) {
    guard case .failure(let failure) = Self.parse(json) else {
      Issue.record("accepted: \(json)")
      return
    }
    #expect(failure.code == .clientDataMalformed)
  }

  @Test(
    arguments: [
      [0x80], [0xC3], [0xC3, 0x28], [0xC0, 0xAF], [0xE0, 0x80, 0xAF], [0xED, 0xA0, 0x80], [0xF4, 0x90, 0x80, 0x80], [0xFF],
    ] as [[UInt8]])
  func bytesThatAreNotUTF8AreMalformed(bytes: [UInt8]) {
    for (before, after) in [(#"{"challenge":""#, #""}"#), (#"{"other":""#, #""}"#), (#"{""#, #"":1}"#)] {
      let json = Array(before.utf8) + bytes + Array(after.utf8)
      #expect(throws: ClientData.Failure.self) { _ = try Self.parse(json).get() }
    }
  }

  @Test func eightLevelsAreEnoughAndNineTooMany() {
    func nested(_ arrays: Int) -> String {
      "{\"challenge\":\"x\",\"a\":" + String(repeating: "[", count: arrays) + String(repeating: "]", count: arrays) + "}"
    }
    #expect(Self.challenge(nested(7)) == Array("x".utf8))
    #expect(Self.challenge(nested(8)) == nil)
    func objects(_ count: Int) -> String {
      "{\"challenge\":\"x\",\"a\":" + String(repeating: "{\"a\":", count: count) + "1" + String(repeating: "}", count: count) + "}"
    }
    #expect(Self.challenge(objects(7)) == Array("x".utf8))
    #expect(Self.challenge(objects(8)) == nil)
    #expect(Self.challenge("{\"a\":" + String(repeating: "[", count: 4000)) == nil)
  }

  @Test func fourKibibytesAreReadAndOneByteMoreIsNot() throws {
    let frame = #"{"challenge":""}"#.utf8.count
    let longest = #"{"challenge":""# + String(repeating: "x", count: 4096 - frame) + #""}"#
    #expect(try Self.read(longest).challenge?.count == 4096 - frame)
    #expect(Self.challenge(longest + " ") == nil)
  }

  @Test func theDigestOfTheBodyIsTakenInAllItsForms() throws {
    let bytes = (0..<32).map { UInt8($0 * 7 + 3) }
    let standard = Base64.encode(bytes.span)
    let forms = [
      standard, standard.replacing("/", with: "\\/"), String(standard.prefix(43)), Base64.encodeURL(bytes.span),
      Hexadecimal.encode(bytes.span),
      Hexadecimal.encode(bytes.span).uppercased(),
    ]
    for form in forms {
      #expect(try Self.parse("{\"bodySHA256\":\"\(form)\"}").get().bodyDigest == SHA256Digest(bytes.span))
    }
  }

  @Test(arguments: ["", "AAAA", "!", "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"])
  func aKeyIdentifierThatIsNot32BytesHasItsOwnCode(text: String) {
    guard case .failure(let failure) = Self.parse("{\"keyId\":\"\(text)\"}") else {
      Issue.record("accepted")
      return
    }
    #expect(failure.code == .keyIDMalformed)
  }

  /// Every proper prefix of a text lacks at least its closing brace; a parser that reads beyond the end would trap here.
  @Test func noPrefixOfClientDataIsClientData() {
    let json = Array(#"{"a":[1.5e-3,true,null,{"b":"\ud83d\ude00"}],"challenge":"\/x","n":-0}"#.utf8)
    #expect((try? Self.parse(json).get()) != nil)
    for count in 0..<json.count { #expect((try? Self.parse(Array(json[..<count])).get()) == nil) }
  }

  /// No byte anywhere may trap, whatever it does to the verdict.
  @Test func everySubstitutedByteGivesAVerdict() {
    let json = Array(#"{"a":[1.5e-3,true,null,{"b":"\ud83d\ude00"}],"challenge":"\/x","n":-0}"#.utf8)
    var accepted = 0
    for index in json.indices {
      for byte in UInt8.min...UInt8.max {
        var changed = json
        changed[index] = byte
        if (try? Self.parse(changed).get()) != nil { accepted += 1 }
      }
    }
    #expect(accepted > json.count)
  }
}
