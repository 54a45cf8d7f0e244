import AppAttest
import Bytes

@testable import Cryptography

/// An assertion that is taken encodes to one with the same fields; a signature that is taken has one encoding; and every key that is
/// recovered from a signature verifies it.
func checkAssertion(_ bytes: [UInt8]) throws(Broken) {
  try checkSignature(bytes, message: [])
  guard let assertion = try? Assertion(bytes) else { return }
  let (signature, authenticatorData) = (Array(copying: assertion.signature), Array(copying: assertion.authenticatorData))
  let encoded = CBORWriting.map([
    (CBORWriting.text("authenticatorData"), CBORWriting.bytes(authenticatorData)),
    (CBORWriting.text("signature"), CBORWriting.bytes(signature)),
  ])
  try require((try? Assertion(encoded)) == assertion, "is encoded as an assertion that reads otherwise")
  let data = assertion.decoded
  let written = data.head + data.extensions.encoded
  try require((try? AuthenticatorData.decode(assertion: written.span)) == data, "authenticator data reads otherwise when written")
  try checkSignature(signature, message: authenticatorData)
}

private func checkSignature(_ der: [UInt8], message: [UInt8]) throws(Broken) {
  let signature = ECDSASignature(der: der.span)
  let keys = PublicKeyRecovery().candidates(signature: der.span, message: message.span)
  guard let signature else {
    try require(keys.isEmpty, "a key is recovered from no signature")
    return
  }
  try require(signature.der == der, "a signature has two encodings")
  for key in keys {
    guard let publicKey = P256PublicKey(x963: key.x963.span) else { throw Broken(description: "a recovered key is not on the curve") }
    let isVerified = publicKey.verify(signature: der.span, message: message.span) != nil
    try require(isVerified, "a recovered key does not verify the signature")
  }
}
