import AppAttest
import Cryptography

@testable import Store

/// Enrolled keys, enrolments and commits for the tests.
enum TestKey {
  static func make() -> EnrolledKey {
    let point = P256PrivateKey.generate().x963
    return EnrolledKey(
      identifier: KeyIdentifier(SHA256.digest(point.span)), publicKey: point, app: "ABCDE12345.com.example.shop",
      environment: .production, trustRoot: SHA256.digest(Array("root".utf8).span))
  }
}
