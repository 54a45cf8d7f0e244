import AppAttest
import EventLoop
import Store

/// `attestgate keys list`: every key of a store, page by page, as large as it may be.
struct KeyList {
  /// Which keys are wanted.
  struct Filter: Sendable {
    /// Only of this app.
    var app: String?
    /// Only active ones, or only revoked ones.
    var isActive: Bool?

    func takes(_ record: KeyRecord) -> Bool {
      (app == nil || record.key.app == app) && (isActive == nil || record.isActive == isActive)
    }
  }

  private static let pageSize = 500

  let filter: Filter
  let asJSON: Bool

  /// Writes the list to standard output. Damaged records go to standard error, and make it fail.
  func write(from store: RedisStore) async throws(StoreFailure) -> Int32 {
    if !asJSON { print(KeyReport.columns) }
    // SCAN may name a key twice while the store grows or shrinks.
    var seen: Set<KeyIdentifier> = []
    var damaged: Set<KeyIdentifier> = []
    var listed = 0
    var cursor: UInt64 = 0
    repeat {
      let page = try await store.records(from: cursor, limit: Self.pageSize)
      for record in page.records where seen.insert(record.key.identifier).inserted && filter.takes(record) {
        print(asJSON ? KeyReport(record).json : KeyReport(record).row)
        listed += 1
      }
      for key in page.damaged where damaged.insert(key).inserted {
        StandardError.write("attestgate keys list: the record of \(key.base64) is damaged: no request of this key is accepted\n")
      }
      cursor = page.next
    } while cursor != 0
    if !asJSON { print(listed == 1 ? "1 key" : "\(listed) keys") }
    return damaged.isEmpty ? ExitCode.done : ExitCode.failed
  }
}
