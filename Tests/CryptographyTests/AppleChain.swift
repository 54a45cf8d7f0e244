import Bytes
import Foundation
import Testing

@testable import Cryptography

/// The certificates that real devices sent, taken out of their attestation objects.
struct AppleChain: CustomTestStringConvertible {
  var name: String
  var leaf: [UInt8]
  var intermediate: [UInt8]

  var testDescription: String { name }

  static let vectors = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent().appending(path: "Vectors")

  static let all: [AppleChain] = try! FileManager.default
    .contentsOfDirectory(at: vectors.appending(path: "attestations"), includingPropertiesForKeys: nil)
    .sorted { $0.path < $1.path }
    .map { file in
      let text = try String(contentsOf: file, encoding: .utf8).filter { !$0.isWhitespace }
      let object = Base64.decode(text, maximum: 16384)!
      // "x5c", an array of two, each a byte string with a length of two bytes.
      var place = object.firstRange(of: Array("x5c".utf8) + [0x82])!.upperBound
      let certificates = (0..<2).map { _ in
        precondition(object[place] == 0x59)
        let count = Int(object[place + 1]) << 8 | Int(object[place + 2])
        defer { place += 3 + count }
        return Array(object[place + 3..<place + 3 + count])
      }
      return AppleChain(name: file.deletingPathExtension().lastPathComponent, leaf: certificates[0], intermediate: certificates[1])
    }

  static func certificate(named name: String) -> Certificate {
    try! CryptographyTests.certificate(pem: String(contentsOf: vectors.appending(path: "certs/\(name).pem"), encoding: .utf8))
  }

  static let root = certificate(named: "apple-app-attestation-root-ca")
}
