import AppAttest

/// Which key the next request on a connection is likely signed with: the one of the last two, if it was the same.
///
/// A client has one key, and trying it saves the recovery. A balancer in front mixes the keys of many, and there each failed try costs
/// a whole verification besides the recovery.
struct LikelyKey {
  private var last: KeyIdentifier?
  private var isRepeated = false
  /// The key to try first; nil to recover at once.
  var value: KeyIdentifier? { isRepeated ? last : nil }

  /// Notes with which key a request was verified.
  mutating func note(verified key: KeyIdentifier) {
    isRepeated = key == last
    last = key
  }
}
