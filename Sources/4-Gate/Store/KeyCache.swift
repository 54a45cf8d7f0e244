public import AppAttest
import Bytes
public import Cryptography

/// An enrolled key with its public key decoded: what a verification needs. An object, since every request is handed one.
public final class CachedKey {
  /// What never changes about the key.
  public let key: EnrolledKey
  /// Its public key, ready to verify.
  public let publicKey: P256PublicKey

  /// The key, decoded; nil when its public key is not a point whose digest is the identifier, which no enrolled key's is.
  public init?(_ key: EnrolledKey) {
    guard let publicKey = P256PublicKey(x963: key.publicKey.span), publicKey.keyDigest == key.identifier.digest else { return nil }
    self.key = key
    self.publicKey = publicKey
  }
}

/// One worker's memory of enrolled keys: immutable parts only, since status and counter are judged by *commit* alone (store.md).
///
/// It holds no negative entries. When it is full a key that was not asked for since the hand last came by makes room (the clock
/// algorithm): a look-up costs one dictionary access, an eviction no list and no sweep.
public final class KeyCache {
  /// Keys that a worker remembers.
  public static let defaultCapacity = 65_536

  private let slots: Guarded<KeySlots>

  /// An empty cache for at most `capacity` keys.
  public init(capacity: Int = KeyCache.defaultCapacity) {
    precondition(capacity > 0)
    slots = Guarded(KeySlots(capacity: capacity))
  }

  /// Number of keys it holds.
  public var count: Int { slots.value.places.count }

  /// The key, if it is remembered.
  public func find(_ identifier: KeyIdentifier) -> CachedKey? { slots.value.find(identifier) }

  /// Remembers a key.
  public func insert(_ cached: CachedKey) { slots.value.insert(cached) }

  /// Forgets a key: the store has it no longer.
  public func remove(_ identifier: KeyIdentifier) { slots.value.remove(identifier) }
}

/// The cache's keys, each in its slot, and where the hand is.
private struct KeySlots {
  private let capacity: Int
  private var keys: [CachedKey?] = []
  /// By slot: whether its key was asked for since the hand came by.
  private var wereUsed: [Bool] = []
  private var free: [Int] = []
  private(set) var places: [KeyIdentifier: Int] = [:]
  private var hand = 0

  init(capacity: Int) { self.capacity = capacity }

  mutating func find(_ identifier: KeyIdentifier) -> CachedKey? {
    guard let place = places[identifier] else { return nil }
    wereUsed[place] = true
    return keys[place]
  }

  mutating func insert(_ cached: CachedKey) {
    let identifier = cached.key.identifier
    let place = places[identifier] ?? vacantSlot()
    keys[place] = cached
    wereUsed[place] = false
    places[identifier] = place
  }

  mutating func remove(_ identifier: KeyIdentifier) {
    guard let place = places.removeValue(forKey: identifier) else { return }
    keys[place] = nil
    free.append(place)
  }

  private mutating func vacantSlot() -> Int {
    if let last = free.popLast() { return last }
    guard keys.count < capacity else { return evict() }
    keys.append(nil)
    wereUsed.append(false)
    return keys.count - 1
  }

  /// Frees the first slot from the hand on whose key was not used since the hand came by. All slots are taken.
  private mutating func evict() -> Int {
    while true {
      let place = hand
      hand = (hand + 1) % capacity
      guard let cached = keys[place] else { continue }
      if wereUsed[place] {
        wereUsed[place] = false
      } else {
        places.removeValue(forKey: cached.key.identifier)
        return place
      }
    }
  }
}
