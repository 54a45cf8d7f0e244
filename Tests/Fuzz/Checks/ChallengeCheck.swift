import AppAttest
import Bytes
import Cryptography

@testable import Store

/// No text opens but one that was issued, for the purpose and the key that it was issued for.
///
/// The input's first bytes say what is done to a fresh challenge, or the input itself is the text.
func checkChallenge(_ bytes: [UInt8]) throws(Broken) {
  for purpose in ChallengePurpose.allCases {
    let opened = seal.open(bytes.span, purpose: purpose, key: nil, now: now)
    guard case .failure = opened else { throw Broken(description: "a challenge was opened that nobody issued") }
  }
  let bound = bytes.count % 2 == 0 ? nil : key
  let issued = Array(seal.issue(purpose: .assert, boundTo: bound, timeToLive: 60, now: now).utf8)
  guard case .success = seal.open(issued.span, purpose: .assert, key: key, now: now + 60) else {
    throw Broken(description: "what was issued cannot be opened")
  }
  for (purpose, other, later) in [(ChallengePurpose.attest, key, 0), (.assert, key, 66)] {
    guard case .failure = seal.open(issued.span, purpose: purpose, key: other, now: now + later) else {
      throw Broken(description: "a challenge was opened for another use")
    }
  }
  let spoiled = spoil(issued, by: bytes)
  if spoiled == issued { return }
  guard case .failure = seal.open(spoiled.span, purpose: .assert, key: key, now: now) else {
    throw Broken(description: "\(quoted(spoiled)) was opened as well")
  }
}

private let now = 1_790_000_000
private let key = KeyIdentifier(SHA256.digest(Array("key".utf8).span))
private let seal = ChallengeSeal(
  SealingSecrets(secrets: [SealingSecrets.Secret(bytes: [UInt8](repeating: 7, count: 32), sealsFrom: 0)], runTag: 9))

/// `text` with some characters replaced, removed or added, as `bytes` say: three of them a change.
private func spoil(_ text: [UInt8], by bytes: [UInt8]) -> [UInt8] {
  var text = text
  for index in stride(from: 0, to: bytes.count - 2, by: 3) {
    let place = Int(bytes[index + 1]) % (text.count + 1)
    switch bytes[index] % 3 {
    case 0 where place < text.count: text[place] = bytes[index + 2]
    case 1 where place < text.count: text.remove(at: place)
    default: text.insert(bytes[index + 2], at: place)
    }
  }
  return text
}
