import Bytes

/// A set of field names, compared without regard to case.
public struct FieldNameSet: Sendable {
  private let names: [[UInt8]]
  /// Bit `count` (63: or longer) is set when there is a name of that length: most fields are told apart by it.
  private let lengths: UInt64

  /// The set of `names`, in any case.
  public init(_ names: [String] = []) {
    self.names = names.map { $0.utf8.map { ASCII.lowerCased($0) } }
    lengths = self.names.reduce(0) { $0 | 1 << UInt64(min($1.count, 63)) }
  }

  /// Whether there are no names.
  public var isEmpty: Bool { lengths == 0 }

  /// Whether `name` is in the set.
  public func contains(_ name: Span<UInt8>) -> Bool {
    guard lengths >> UInt64(min(name.count, 63)) & 1 == 1 else { return false }
    for candidate in names where name.equalsIgnoringCase(candidate.span) { return true }
    return false
  }

  /// Whether `name` is in the set, or reads like a name of it where separators are not told apart.
  public func containsTwin(of name: Span<UInt8>) -> Bool {
    guard lengths >> UInt64(min(name.count, 63)) & 1 == 1 else { return false }
    for candidate in names where Self.equalFolded(name, candidate.span) { return true }
    return false
  }

  private static func equalFolded(_ left: Span<UInt8>, _ right: Span<UInt8>) -> Bool {
    guard left.count == right.count else { return false }
    for index in left.indices where FieldName.folded(left[index]) != FieldName.folded(right[index]) { return false }
    return true
  }
}

/// Fields to set and to remove, in the form in which they are written: made once from the configuration.
public struct FieldChanges: Sendable {
  /// Names of fields that are not passed on: those to remove and those that are set.
  public let names: FieldNameSet
  /// The lines of the fields that are set, each with its CRLF.
  public let block: [UInt8]

  /// No changes.
  public static let none = FieldChanges(uncheckedSet: [], remove: [])

  /// Changes; nil when ``fault(name:value:)`` finds one in any of them.
  public init?(set: [(name: String, value: String)], remove: [String]) {
    for field in set where Self.fault(name: field.name, value: field.value) != nil { return nil }
    for name in remove where Self.fault(name: name, value: "") != nil { return nil }
    self.init(uncheckedSet: set, remove: remove)
  }

  private init(uncheckedSet set: [(name: String, value: String)], remove: [String]) {
    names = FieldNameSet(set.map(\.name) + remove)
    block = set.flatMap { Array("\($0.name): \($0.value)\r\n".utf8) }
  }

  /// Why a field may not be set or removed, for the configuration's error; nil when it may.
  public static func fault(name: String, value: String) -> String? {
    let nameBytes = Array(name.utf8)
    guard Token.isToken(nameBytes.span), nameBytes.count <= HeadLimits.fieldNameBytesMax else { return "not a field name" }
    let known = FieldName(withAnySeparators: nameBytes.span)
    if known.isAppAttest { return "fields X-App-Attest-… are the gate's own" }
    if known.isHopByHop || known == .contentLength || known == .expect { return "framing and connection fields are the gate's own" }
    if known == .host { return "the Host field is set by the upstream's key host" }
    let bytes = Array(value.utf8)
    for byte in bytes where byte < 0x20 && byte != 0x09 || byte == 0x7F { return "the value contains a control character" }
    if let first = bytes.first, let last = bytes.last, Token.isSpace(first) || Token.isSpace(last) {
      return "the value begins or ends with white space"
    }
    return nil
  }
}

/// What becomes of a request's fields on one route of one listener to one upstream: made once from the configuration.
public struct FieldPolicy: Sendable {
  /// What happens to names with an underscore, which CGI and its kin cannot tell from a hyphen.
  public enum Underscores: String, Sendable {
    /// The fields are dropped.
    case drop
    /// The request is 400.
    case reject
    /// The fields are passed on, but for those that read like one of the gate's own, its inputs or a field that it judges.
    case keep
  }

  /// What happens to names with an underscore.
  public var underscores: Underscores
  /// The names of the route's input fields (`headers:`).
  public var inputs: FieldNameSet
  /// Whether the inputs are passed on (`keep_headers`).
  public var keepsInputs: Bool
  /// The upstream's `request_headers`.
  public var changes: FieldChanges

  /// A policy; the defaults are those of config.md.
  public init(
    underscores: Underscores = .drop, inputs: FieldNameSet = FieldNameSet(), keepsInputs: Bool = false, changes: FieldChanges = .none
  ) {
    self.underscores = underscores
    self.inputs = inputs
    self.keepsInputs = keepsInputs
    self.changes = changes
  }
}
