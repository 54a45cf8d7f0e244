import AppAttest
import Cryptography
import Testing

@testable import Store

@Suite struct KeyCacheTests {
  @Test func aKeyIsFoundUntilItIsRemoved() throws {
    let cache = KeyCache(capacity: 4)
    let cached = try #require(CachedKey(TestKey.make()))
    #expect(cache.find(cached.key.identifier) == nil)
    cache.insert(cached)
    #expect(cache.find(cached.key.identifier)?.key == cached.key)
    cache.remove(cached.key.identifier)
    cache.remove(cached.key.identifier)
    #expect(cache.find(cached.key.identifier) == nil)
    #expect(cache.count == 0)
  }

  @Test func aFullCacheForgetsKeysThatWereNotAskedForSince() throws {
    let cache = KeyCache(capacity: 8)
    let keys = try (0..<8).map { _ in try #require(CachedKey(TestKey.make())) }
    for key in keys { cache.insert(key) }
    for key in keys[..<4] { #expect(cache.find(key.key.identifier) != nil) }
    for _ in 0..<4 { cache.insert(try #require(CachedKey(TestKey.make()))) }
    #expect(cache.count == 8)
    for key in keys[..<4] { #expect(cache.find(key.key.identifier) != nil) }
    for key in keys[4...] { #expect(cache.find(key.key.identifier) == nil) }
  }

  @Test func itNeverHoldsMoreThanItsCapacity() throws {
    let cache = KeyCache(capacity: 3)
    var keys: [CachedKey] = []
    for round in 0..<50 {
      let key = try #require(CachedKey(TestKey.make()))
      keys.append(key)
      cache.insert(key)
      cache.insert(key)
      if round % 7 == 0 { cache.remove(key.key.identifier) }
      if round % 3 == 0 { _ = cache.find(keys[round / 2].key.identifier) }
      #expect(cache.count <= 3)
    }
    let held = keys.filter { cache.find($0.key.identifier) != nil }
    #expect(held.count == cache.count)
  }

  @Test func aPublicKeyThatIsNotTheIdentifiersIsNotTaken() {
    let key = TestKey.make()
    let other = TestKey.make()
    let swapped = EnrolledKey(
      identifier: key.identifier, publicKey: other.publicKey, app: key.app, environment: key.environment, trustRoot: key.trustRoot)
    #expect(CachedKey(swapped) == nil)
    let short = EnrolledKey(
      identifier: key.identifier, publicKey: [4, 1], app: key.app, environment: key.environment, trustRoot: key.trustRoot)
    #expect(CachedKey(short) == nil)
  }
}
