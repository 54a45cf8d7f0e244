import AppAttest
import Bytes
import Cryptography
import FoundationEssentials
import Store

/// A key's record, for people and for programs.
struct KeyReport {
  private struct Fields: Encodable {
    var key_id: String
    var app: String
    var environment: String
    var status: String
    var counter: UInt32
    var enrolled_at: String
    var seen_at: String?
    var trust_root_sha256: String
    var attestation_sha256: String
    var receipt_bytes: Int
    var category: UInt32?
    var bundle_version: String?
  }

  private let record: KeyRecord

  init(_ record: KeyRecord) { self.record = record }

  private var status: String { record.isActive ? "active" : "revoked" }

  /// One line.
  var json: String {
    let fields = Fields(
      key_id: record.key.identifier.base64, app: record.key.app, environment: record.key.environment.rawValue, status: status,
      counter: record.counter, enrolled_at: Self.date(record.enrolledAt), seen_at: record.seenAt.map(Self.date),
      trust_root_sha256: Self.hexadecimal(record.key.trustRoot.bytes), attestation_sha256: Self.hexadecimal(record.attestation.bytes),
      receipt_bytes: record.receiptByteCount, category: record.category, bundle_version: record.bundleVersion)
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    guard let data = try? encoder.encode(fields) else { return "{}" }
    return String(decoding: data, as: UTF8.self)
  }

  /// A line a field.
  var text: String {
    let fields: [(String, String?)] = [
      ("key identifier", record.key.identifier.base64), ("app", record.key.app), ("environment", record.key.environment.rawValue),
      ("status", status), ("counter", "\(record.counter)"), ("enrolled", Self.date(record.enrolledAt)),
      ("last seen", record.seenAt.map(Self.date) ?? "never"), ("trust root SHA-256", Self.hexadecimal(record.key.trustRoot.bytes)),
      ("attestation SHA-256", Self.hexadecimal(record.attestation.bytes)), ("receipt", "\(record.receiptByteCount) bytes"),
      ("category", record.category.map { "\($0)" }), ("bundle version", record.bundleVersion),
    ]
    let present = fields.compactMap { name, value in value.map { (name, $0) } }
    let width = present.map(\.0.count).max() ?? 0
    return present.map { "\(InspectionOutput.padded($0, width))  \(InspectionOutput.printable($1))" }.joined(separator: "\n")
  }

  /// The columns of a list.
  static let columns = line("KEY ID", "STATUS", "ENVIRONMENT", "COUNTER", "LAST SEEN", "APP")

  /// One line of a list.
  var row: String {
    Self.line(
      record.key.identifier.base64, status, record.key.environment.rawValue, "\(record.counter)", record.seenAt.map(Self.date) ?? "never",
      InspectionOutput.printable(record.key.app))
  }

  private static func line(_ cells: String...) -> String {
    let widths = [44, 7, 11, 10, 20, 0]
    return zip(cells, widths).map { InspectionOutput.padded($0, $1) }.joined(separator: "  ")
  }

  private static func date(_ seconds: Int) -> String { Date(timeIntervalSince1970: TimeInterval(seconds)).ISO8601Format() }

  private static func hexadecimal(_ bytes: [UInt8]) -> String { Hexadecimal.encode(bytes.span) }
}
