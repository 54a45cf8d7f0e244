public import AppAttest
public import Cryptography

/// An enrolled key with its public key decoded: what a verification needs.
public struct CachedKey {
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

  private struct Slot {
    var cached: CachedKey
    var wasUsed: Bool
  }

  private let capacity: Int
  private var slots: [Slot?] = []
  private var free: [Int] = []
  private var places: [KeyIdentifier: Int] = [:]
  private var hand = 0

  /// An empty cache for at most `capacity` keys.
  public init(capacity: Int = KeyCache.defaultCapacity) {
    precondition(capacity > 0)
    self.capacity = capacity
  }

  /// Number of keys it holds.
  public var count: Int { places.count }

  /// The key, if it is remembered.
  public func find(_ identifier: KeyIdentifier) -> CachedKey? {
    guard let place = places[identifier] else { return nil }
    slots[place]?.wasUsed = true
    return slots[place]?.cached
  }

  /// Remembers a key.
  public func insert(_ cached: CachedKey) {
    let identifier = cached.key.identifier
    let slot = Slot(cached: cached, wasUsed: false)
    if let place = places[identifier] {
      slots[place] = slot
      return
    }
    let place: Int
    if let last = free.popLast() {
      place = last
      slots[place] = slot
    } else if slots.count < capacity {
      place = slots.count
      slots.append(slot)
    } else {
      place = evict()
      slots[place] = slot
    }
    places[identifier] = place
  }

  /// Forgets a key: the store has it no longer.
  public func remove(_ identifier: KeyIdentifier) {
    guard let place = places.removeValue(forKey: identifier) else { return }
    slots[place] = nil
    free.append(place)
  }

  /// Frees the first slot from the hand on whose key was not used since the hand came by. All slots are taken.
  private func evict() -> Int {
    while true {
      let place = hand
      hand = (hand + 1) % capacity
      guard let slot = slots[place] else { continue }
      if slot.wasUsed {
        slots[place]?.wasUsed = false
      } else {
        places.removeValue(forKey: slot.cached.key.identifier)
        return place
      }
    }
  }
}
