import AppAttest
import Cryptography

// Spans of temporaries do not live long enough for an expression: the same calls with arrays.

func attestationObject(_ bytes: [UInt8]) throws -> AttestationObject { try AttestationObject(bytes.span) }

func assertionObject(_ bytes: [UInt8]) throws -> Assertion { try Assertion(bytes) }

func certificate(_ der: [UInt8]) throws -> Certificate { try Certificate(der: der.span) }

func digest(_ bytes: [UInt8]) -> SHA256Digest { SHA256.digest(bytes.span) }
