import AppAttest
import Bytes
import Testing

@Suite struct ObjectTextTests {
  static func object(_ input: [UInt8]) -> Result<[UInt8], ObjectText.Failure> {
    do throws(ObjectText.Failure) { return .success(try ObjectText.object(in: input)) } catch { return .failure(error) }
  }

  @Test(arguments: Vector.attestations + Vector.assertions)
  func anObjectIsFoundInEveryFormThatAPersonHasItIn(vector: Vector) {
    let standard = Base64.encode(vector.bytes.span)
    var lines: [UInt8] = []
    for (index, byte) in standard.utf8.enumerated() { lines += index % 64 == 63 ? [byte, 0x0D, 0x0A] : [byte] }
    let forms: [[UInt8]] = [
      vector.bytes, Array(standard.utf8), Array((standard + "\n").utf8), Array((" \t" + standard + " \r\n").utf8), lines,
      Array(Base64.encodeURL(vector.bytes.span).utf8), Array(Hexadecimal.encode(vector.bytes.span).utf8),
      Array(("\u{FEFF}" + standard).utf8),
    ]
    for form in forms { #expect(Self.object(form) == .success(vector.bytes)) }
  }

  @Test(arguments: [
    ("", "it is empty"), (" \n", "it holds white space only"), ("{\"attestation\":\"o2Nm\"}", "it is JSON"),
    ("\"o2Nm\"", "it is in quotes"),
    ("'o2Nm'", "it is in quotes"), ("-----BEGIN PUBLIC KEY-----\nMFkw\n-----END PUBLIC KEY-----", "it is PEM"),
    ("o2Nm%2Ba", "it is percent-encoded (character 5)"), ("o2Nm bXQ", "it has a space at character 5"),
    ("o2Nm\\/A", "it has a backslash at character 5"),
    ("o2Nm!AAA", "character 5 is !"), ("o2Nmé", "byte 5 is neither base64"), ("o2Nmb", "it is not whole base64"),
    ("o2N+_2Nm", "it is not whole base64"),
    ("o2Nm=", "it is not whole base64"), ("\u{0}\u{1}", "byte 1 is neither base64"),
  ])
  func whatIsWrongIsToldWithItsMend(text: String, problem: String) {
    guard case .failure(let failure) = Self.object(Array(text.utf8)) else { return #expect(Bool(false), "no failure") }
    #expect(failure.description.hasPrefix(problem), "\(failure)")
  }

  @Test func anObjectThatIsEncodedTwiceIsNamed() {
    let bytes = Vector.newest.bytes
    let once = Array(Base64.encode(bytes.span).utf8)
    guard case .failure(let failure) = Self.object(Array(Base64.encode(once.span).utf8)) else { return #expect(Bool(false), "no failure") }
    #expect(failure.description.contains("twice"))
  }

  @Test func otherBytesInBase64AreForTheDecoderToJudge() {
    #expect(Self.object(Array("////".utf8)) == .success([0xFF, 0xFF, 0xFF]))
  }
}
