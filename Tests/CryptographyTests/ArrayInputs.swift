import Bytes

@testable import Cryptography

// The test library's macros take no Span and no noncopyable value: the same calls with arrays.

func publicKey(_ point: [UInt8]) -> P256PublicKey? { P256PublicKey(x963: point.span) }

func scalars(_ der: [UInt8]) -> ECDSASignature? { ECDSASignature(der: der.span) }

func bytes(hexadecimal digits: String) -> [UInt8] {
  let text = Array(digits.utf8)
  return Hexadecimal.decode(text.span)!
}

/// The digests of key and message that the proof carries; nil when there is no proof.
func verify(_ signature: [UInt8], over message: [UInt8], _ key: P256PublicKey) -> [SHA256Digest]? {
  switch key.verify(signature: signature.span, message: message.span) {
  case .none: nil
  case .some(let proof): [proof.publicKeyDigest, proof.messageDigest]
  }
}

func isValid(_ signature: [UInt8], over message: [UInt8], _ key: P256PublicKey) -> Bool { verify(signature, over: message, key) != nil }

func candidates(_ signature: [UInt8], _ message: [UInt8], _ recovery: PublicKeyRecovery = PublicKeyRecovery()) -> [RecoveredKey] {
  recovery.candidates(signature: signature.span, message: message.span)
}

func certificate(der: [UInt8]) throws(CertificateFailure) -> Certificate { try Certificate(der: der.span) }

func certificate(pem text: String) throws(CertificateFailure) -> Certificate {
  let bytes = Array(text.utf8)
  return try Certificate(pem: bytes.span)
}
