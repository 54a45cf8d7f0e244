import Bytes
import COpenSSL
import Testing

@testable import Cryptography

@Suite struct SignatureTests {
  static let message = Array("a message".utf8)

  @Test(arguments: [P256PrivateKey.SignatureForm.any, .lowS, .highS])
  func aSignatureIsValidForItsMessageAlone(form: P256PrivateKey.SignatureForm) throws {
    let key = P256PrivateKey.generate()
    let point = key.x963
    let verifier = try #require(publicKey(point))
    let signature = key.sign(message: Self.message.span, form: form)
    for _ in 0..<3 {
      let digests = [SHA256.digest(point.span), SHA256.digest(Self.message.span)]
      #expect(verify(signature, over: Self.message, verifier) == digests)
      // A refusal leaves the key as good as it was.
      let other = Array("another message".utf8)
      #expect(!isValid(signature, over: other, verifier))
      #expect(ERR_peek_error() == 0)
    }
    let stranger = try #require(publicKey(P256PrivateKey.generate().x963))
    #expect(!isValid(signature, over: Self.message, stranger))
  }

  @Test func theSignatureFormIsTheOneAskedFor() throws {
    let key = P256PrivateKey.generate()
    for _ in 0..<16 {
      let low = try #require(scalars(key.sign(message: Self.message.span, form: .lowS)))
      let high = try #require(scalars(key.sign(message: Self.message.span, form: .highS)))
      #expect(!low.s.isHigh)
      #expect(high.s.isHigh)
      #expect(high.s.negated.negated == high.s)
    }
  }

  /// Every bit of a signature counts: 64 bytes of r and s and the DER around them.
  @Test func aFlippedBitIsRejected() throws {
    let key = P256PrivateKey.generate()
    let verifier = try #require(publicKey(key.x963))
    let signature = key.sign(message: Self.message.span)
    for index in signature.indices {
      for bit in 0..<8 {
        var spoiled = signature
        spoiled[index] ^= 1 << UInt8(bit)
        #expect(!isValid(spoiled, over: Self.message, verifier), "byte \(index), bit \(bit)")
      }
    }
    #expect(isValid(signature, over: Self.message, verifier))
    #expect(ERR_peek_error() == 0)
  }

  static let order = bytes(hexadecimal: "ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551")

  @Test(
    arguments: [
      ("nothing", []),
      ("one byte", [0x30]),
      ("an empty sequence", [0x30, 0x00]),
      ("one integer", [0x30, 0x03, 0x02, 0x01, 0x01]),
      ("three integers", [0x30, 0x09, 0x02, 0x01, 0x01, 0x02, 0x01, 0x01, 0x02, 0x01, 0x01]),
      ("a set", [0x31, 0x06, 0x02, 0x01, 0x01, 0x02, 0x01, 0x01]),
      ("an octet string inside", [0x30, 0x06, 0x04, 0x01, 0x01, 0x02, 0x01, 0x01]),
      ("r zero", [0x30, 0x06, 0x02, 0x01, 0x00, 0x02, 0x01, 0x01]),
      ("s zero", [0x30, 0x06, 0x02, 0x01, 0x01, 0x02, 0x01, 0x00]),
      ("r negative", [0x30, 0x06, 0x02, 0x01, 0x80, 0x02, 0x01, 0x01]),
      ("r padded", [0x30, 0x07, 0x02, 0x02, 0x00, 0x01, 0x02, 0x01, 0x01]),
      ("r empty", [0x30, 0x05, 0x02, 0x00, 0x02, 0x01, 0x01]),
      ("a byte after it", [0x30, 0x06, 0x02, 0x01, 0x01, 0x02, 0x01, 0x01, 0x00]),
      ("a byte inside it after s", [0x30, 0x07, 0x02, 0x01, 0x01, 0x02, 0x01, 0x01, 0x00]),
      ("a long length", [0x30, 0x81, 0x06, 0x02, 0x01, 0x01, 0x02, 0x01, 0x01]),
      ("an indefinite length", [0x30, 0x80, 0x02, 0x01, 0x01, 0x02, 0x01, 0x01, 0x00, 0x00]),
      ("an integer beyond the end", [0x30, 0x06, 0x02, 0x01, 0x01, 0x02, 0x02, 0x01]),
      ("an integer longer than the whole", [0x30, 0x06, 0x02, 0x7F, 0x01, 0x02, 0x01, 0x01]),
      ("r = n", [0x30, 0x26, 0x02, 0x21, 0x00] + order + [0x02, 0x01, 0x01]),
      ("s = n", [0x30, 0x26, 0x02, 0x01, 0x01, 0x02, 0x21, 0x00] + order),
      ("r of 34 bytes", [0x30, 0x27, 0x02, 0x22] + [UInt8](repeating: 1, count: 34) + [0x02, 0x01, 0x01]),
      ("r of 33 bytes", [0x30, 0x26, 0x02, 0x21] + [UInt8](repeating: 1, count: 33) + [0x02, 0x01, 0x01]),
      ("73 bytes", [0x30, 0x47] + [UInt8](repeating: 2, count: 71)),
    ] as [(String, [UInt8])])
  func whatIsNotTheOneEncodingIsRejected(name: String, signature: [UInt8]) throws {
    #expect(scalars(signature) == nil, "\(name)")
    let verifier = try #require(publicKey(P256PrivateKey.generate().x963))
    #expect(!isValid(signature, over: Self.message, verifier))
    #expect(candidates(signature, Self.message).isEmpty)
    #expect(ERR_peek_error() == 0)
  }

  @Test func theLargestAndSmallestScalarsRoundTrip() throws {
    var largest = Self.order
    largest[31] -= 1
    let der: [UInt8] = [0x30, 0x26, 0x02, 0x21, 0x00] + largest + [0x02, 0x01, 0x01]
    let signature = try #require(scalars(der))
    #expect(signature.r.isHigh)
    #expect(!signature.s.isHigh)
    #expect(signature.r.negated == signature.s)
    #expect(signature.der == der)
  }

  @Test func aPointThatIsNoKeyIsRefused() {
    let point = P256PrivateKey.generate().x963
    var offCurve = point
    offCurve[64] ^= 1
    var compressed = Array(point[0..<33])
    compressed[0] = 2 + (point[64] & 1)
    var hybrid = point
    hybrid[0] = 6 + (point[64] & 1)
    let beyondField = [0x04] + [UInt8](repeating: 0xFF, count: 64)
    let refused: [[UInt8]] = [[], [0], offCurve, compressed, hybrid, beyondField, Array(point.dropLast()), point + [0]]
    for bytes in refused {
      #expect(publicKey(bytes) == nil, "\(bytes.count) bytes")
    }
    #expect(publicKey(P384PrivateKey.generate().x963) == nil)
    #expect(ERR_peek_error() == 0)
  }

  @Test func privateKeysSurviveTheirPEM() throws {
    let key = P256PrivateKey.generate()
    let text = Array(key.pem.utf8)
    #expect(P256PrivateKey(pem: text.span)?.x963 == key.x963)
    let authority = P384PrivateKey.generate()
    let authorityText = Array(authority.pem.utf8)
    #expect(P384PrivateKey(pem: authorityText.span)?.x963 == authority.x963)
    let refused = [
      P256PrivateKey(pem: authorityText.span) == nil, P384PrivateKey(pem: text.span) == nil,
      P256PrivateKey(pem: text.span.extracting(first: text.count / 2)) == nil, P256PrivateKey(pem: Span()) == nil,
    ]
    #expect(refused == [true, true, true, true])
    #expect(ERR_peek_error() == 0)
  }
}
