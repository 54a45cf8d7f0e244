import AppAttest

/// Which key the next request on a connection is likely signed with: the one of the last two, if it was the same.
///
/// A client has one key, and trying it saves the recovery. A balancer in front mixes the keys of many, and there each failed try costs
/// a whole verification besides the recovery.
struct LikelyKey {
  private var last: KeyIdentifier?
  /// The key to try first; nil to recover at once.
  private(set) var value: KeyIdentifier?

  /// Notes with which key a request was verified.
  mutating func note(verified key: KeyIdentifier) {
    value = key == last ? key : nil
    last = key
  }
}
