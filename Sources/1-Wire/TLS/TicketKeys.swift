import COpenSSL
import Synchronization

/// The keys of session tickets (RFC 5077 section 4): one seals, those before it still open, none lives longer than a day.
///
/// One set for all workers and for every certificate, and it outlives a reload: a client resumes wherever it arrives.
public final class TicketKeys: Sendable {
  /// How long a key seals, in seconds.
  public static let sealingSeconds = 6 * 3600
  /// Keys that still open, besides the one that seals.
  static let formerCount = 2

  final class Key: Sendable {
    let name: [UInt8]
    let cipherKey: [UInt8]
    let codeKey: [UInt8]
    let madeAt: Int

    /// A key of randomness; nil when there is none to be had.
    init?(now: Int) {
      var bytes = [UInt8](repeating: 0, count: 80)
      guard unsafe bytes.withUnsafeMutableBufferPointer({ unsafe RAND_bytes($0.baseAddress, Int32($0.count)) }) == 1 else { return nil }
      name = Array(bytes[0..<16])
      cipherKey = Array(bytes[16..<48])
      codeKey = Array(bytes[48..<80])
      madeAt = now
    }
  }

  private let keys = Mutex<[Key]>([])

  /// Keys that begin with the first ticket.
  public init() {}

  /// The key that seals at `now` (seconds since 1970), made when the last one has sealed long enough.
  func sealing(at now: Int) -> Key? {
    keys.withLock { keys in
      if let newest = keys.first, now < newest.madeAt + Self.sealingSeconds { return newest }
      guard let fresh = Key(now: now) else { return nil }
      keys = [fresh] + keys.prefix(Self.formerCount)
      return fresh
    }
  }

  /// The key of this name, if it still opens at `now`, and whether it still seals.
  func opening(_ name: [UInt8], at now: Int) -> (key: Key, seals: Bool)? {
    keys.withLock { keys in
      guard let index = keys.firstIndex(where: { $0.name == name }) else { return nil }
      guard now < keys[index].madeAt + Self.sealingSeconds * (Self.formerCount + 1) else { return nil }
      return (keys[index], index == 0 && now < keys[index].madeAt + Self.sealingSeconds)
    }
  }
}
