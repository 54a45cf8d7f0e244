import Bytes
import Cryptography

/// What Apple writes about device and app into a leaf certificate's extensions. Undocumented but for the nonce and the access control;
/// read for people, and to tell a Mac.
struct LeafDetails: Sendable, Equatable {
  /// The App ID (1.2.840.113635.100.8.5, tag 1204).
  var appID: String?
  /// `iphoneos` and its like, from iOS 18 on (1.2.840.113635.100.8.7, tag 1026).
  var platform: String?
  /// For example `27.0.1` (tag 1400).
  var systemVersion: String?
  /// For example `24A446` (tag 1403).
  var systemBuild: String?
  /// Who may use the key (1.2.840.113635.100.8.6): an access control list, nil in leaves before iOS 26.3.
  var accessControl: [UInt8]?

  /// Reads what is there; what cannot be read is nil.
  init(_ leaf: Certificate) {
    if let value = leaf.extensionValue(oid: "1.2.840.113635.100.8.5") {
      appID = Self.text(1204, in: value)
    }
    if let value = leaf.extensionValue(oid: "1.2.840.113635.100.8.7") {
      platform = Self.text(1026, in: value)
      systemVersion = Self.text(1400, in: value)
      systemBuild = Self.text(1403, in: value)
    }
    if let value = leaf.extensionValue(oid: "1.2.840.113635.100.8.6") {
      accessControl = Self.accessControl(in: value)
    }
  }

  /// Whether Apple says that the key is a Mac's.
  var isMac: Bool { platform?.hasPrefix("mac") ?? false }

  /// The list of a Mac with System Integrity Protection and Full Security (App Attest step 4; "should never change across macOS versions").
  static let secureMacAccessControl: [UInt8] = {
    let text = "MEAMAjExMDowCQwCb2uhAwEB/zAJDAJvYaEDAQH/MAsMBG9kZWyhAwEB/zAVDARvc2duoAYMBHJzZWMwBaYDAgEB"
    return Base64.decode(text, maximum: 128) ?? []
  }()

  /// The list that iOS 26.3 and later writes.
  static let mobileAccessControl: [UInt8] = {
    let text = "MEMMAjExMD0wCgwDb2tkoQMBAf8wCQwCb2GhAwEB/zALDARvc2duoQMBAf8wCwwEb2RlbKEDAQH/MAoMA29ja6EDAQH/"
    return Base64.decode(text, maximum: 128) ?? []
  }()

  /// The text in `SEQUENCE { … [tag] EXPLICIT OCTET STRING … }`.
  static func text(_ tag: Int, in der: [UInt8]) -> String? {
    let bytes = der.span
    guard let sequence = DERElement(bytes, from: 0), sequence.isSequence else { return nil }
    var offset = sequence.content.start
    while offset < sequence.content.end {
      guard let element = DERElement(bytes, from: offset), element.end <= sequence.content.end else { return nil }
      if element.contextTag == tag {
        guard let string = DERElement(bytes, from: element.content.start), string.isOctetString, string.end <= element.end else {
          return nil
        }
        return String(validating: Array(copying: bytes.bytes(at: string.content)), as: UTF8.self)
      }
      offset = element.end
    }
    return nil
  }

  /// The one octet string, however deep it is wrapped.
  private static func accessControl(in der: [UInt8]) -> [UInt8]? {
    let bytes = der.span
    var offset = 0
    while let element = DERElement(bytes, from: offset) {
      if element.isOctetString { return Array(copying: bytes.bytes(at: element.content)) }
      guard element.isSequence || element.contextTag != nil else { return nil }
      offset = element.content.start
    }
    return nil
  }
}

/// One element of DER: what it is and where its content is (X.690 section 8.1).
private struct DERElement {
  private let identifier: UInt8
  private let number: Int
  let content: ByteRange

  /// The element that begins at `start` and lies wholly within the bytes; nil when there is none.
  init?(_ bytes: Span<UInt8>, from start: Int) {
    var offset = start
    func next() -> UInt8? {
      guard offset < bytes.count else { return nil }
      defer { offset += 1 }
      return bytes[offset]
    }
    guard let identifier = next() else { return nil }
    self.identifier = identifier
    var number = Int(identifier & 31)
    if number == 31 {
      // Tags of 31 and more take two bytes here; no known one takes more.
      guard let high = next(), high & 0x80 != 0, let low = next(), low & 0x80 == 0 else { return nil }
      number = Int(high & 0x7F) << 7 | Int(low)
    }
    self.number = number
    guard let first = next() else { return nil }
    var count = Int(first)
    if first & 0x80 != 0 {
      guard first == 0x81 || first == 0x82 else { return nil }
      count = 0
      for _ in 0..<(first & 0x7F) {
        guard let byte = next() else { return nil }
        count = count << 8 | Int(byte)
      }
    }
    guard count <= bytes.count - offset else { return nil }
    content = ByteRange(start: offset, count: count)
  }

  var end: Int { content.end }
  var isSequence: Bool { identifier == 0x30 }
  var isOctetString: Bool { identifier == 0x04 }
  /// The number of a constructed context-specific tag.
  var contextTag: Int? { identifier & 0xE0 == 0xA0 ? number : nil }
}
