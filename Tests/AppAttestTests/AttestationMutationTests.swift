import AppAttest
import Bytes
import Testing

/// Every byte of every real attestation changed, one at a time (of the receipts every sixteenth: nothing looks into them).
@Suite struct AttestationMutationTests {
  /// Where the receipt lies, with its CBOR head: no signature covers it, so a change there changes what is kept and nothing else.
  static func receipt(in vector: Vector) -> Range<Int> {
    let receipt = AttestationParts(vector).receipt
    let head = Array("receipt".utf8) + Item.head(2, receipt.count)
    let bytes = vector.bytes
    guard let start = bytes.indices.first(where: { bytes[$0...].starts(with: head + receipt.prefix(64)) }) else { return 0..<0 }
    return start + head.count..<start + head.count + receipt.count
  }

  @Test(arguments: Vector.attestations)
  func noChangedByteIsVerifiedButInTheReceipt(vector: Vector) {
    let receipt = Self.receipt(in: vector)
    #expect(receipt.count > 3_000)
    let verifier = vector.verifier
    for index in vector.bytes.indices where !receipt.contains(index) {
      var bytes = vector.bytes
      bytes[index] ^= 1 << (index % 8)
      let verdict = verifier.verify(
        object: bytes, keyIdentifier: vector.keyIdentifier, clientDataHash: vector.clientDataHash, at: vector.unixSeconds)
      #expect(verdict.code != nil, "byte \(index)")
    }
  }

  @Test(arguments: Vector.attestations)
  func aChangedReceiptChangesNothingElse(vector: Vector) throws {
    let good = try AttestationObject(vector.bytes.span)
    for index in Self.receipt(in: vector) where index.isMultiple(of: 16) {
      var bytes = vector.bytes
      bytes[index] ^= 1 << (index % 8)
      let object = try AttestationObject(bytes.span)
      #expect(object.receipt != good.receipt)
      #expect(object.certificates == good.certificates)
      #expect(object.authenticatorData == good.authenticatorData)
      #expect(object.decoded == good.decoded)
    }
  }
}
