import Bytes

/// One field line: where its name and value are, what it is, what becomes of it. 16 bytes.
struct Field {
  struct Flags: OptionSet {
    let rawValue: UInt8
    /// The line reads `Name: value` with nothing else around, as it would be written anew.
    static let canonical = Flags(rawValue: 1)
    /// The name holds an underscore.
    static let underscore = Flags(rawValue: 2)
    /// The name holds a separator other than a hyphen.
    static let oddSeparator = Flags(rawValue: 4)
    /// Gone, as if it had not been sent: hop-by-hop, named by `Connection`, or refused for its spelling.
    static let dropped = Flags(rawValue: 8)
    /// Read by the gate, not passed on.
    static let withheld = Flags(rawValue: 16)
    static let notPassedOn: Flags = [.dropped, .withheld]
  }

  var nameStart: UInt32
  var valueStart: UInt32
  var valueCount: UInt32
  var nameCount: UInt16
  var name: FieldName
  var flags: Flags

  var nameRange: ByteRange { ByteRange(start: Int(nameStart), count: Int(nameCount)) }
  var valueRange: ByteRange { ByteRange(start: Int(valueStart), count: Int(valueCount)) }
}

/// The fields of one head and, once it is complete, the head's bytes. The storage of both is kept from head to head.
struct FieldTable: ~Copyable {
  /// A copy of the complete head; what ranges refer to.
  var bytes = ByteQueue()
  var fields: [Field] = []

  mutating func reset() {
    bytes.removeAll()
    fields.removeAll(keepingCapacity: true)
  }

  mutating func releaseStorage() {
    reset()
    bytes.releaseStorageIfEmpty()
    fields = []
  }

  /// Parses one field line, which holds no control but tabs (RFC 9112 section 5).
  mutating func append(line: ByteRange, of bytes: Span<UInt8>) -> HeadRefusal? {
    var flags: Field.Flags = []
    var colon = line.start
    while true {
      colon = bytes.firstBeyondName(from: colon, to: line.end)
      guard colon < line.end else { return .fieldNameMalformed }
      let byte = bytes[colon]
      if byte == UInt8(ascii: ":") { break }
      guard Token.contains(byte) else { return Self.nameFault(at: colon, line: line, bytes: bytes) }
      flags.insert(byte == UInt8(ascii: "_") ? [.underscore, .oddSeparator] : .oddSeparator)
      colon += 1
    }
    let name = ByteRange(from: line.start, to: colon)
    guard name.count > 0 else { return .fieldNameMalformed }
    guard name.count <= HeadLimits.fieldNameBytesMax else { return .fieldNameTooLong }
    let value = Token.trimmed(ByteRange(from: colon + 1, to: line.end), in: bytes)
    if value.start == colon + 2, value.end == line.end, bytes[colon + 1] == 0x20 { flags.insert(.canonical) }
    let text = bytes.bytes(at: name)
    fields.append(
      Field(
        nameStart: UInt32(truncatingIfNeeded: name.start), valueStart: UInt32(truncatingIfNeeded: value.start),
        valueCount: UInt32(truncatingIfNeeded: value.count), nameCount: UInt16(truncatingIfNeeded: name.count),
        name: flags.contains(.oddSeparator) ? FieldName(withOddSeparators: text) : FieldName(text), flags: flags))
    return nil
  }

  private static func nameFault(at index: Int, line: ByteRange, bytes: Span<UInt8>) -> HeadRefusal {
    guard Token.isSpace(bytes[index]) else { return .fieldNameMalformed }
    if index == line.start { return .foldedLine }
    var next = index
    while next < line.end, Token.isSpace(bytes[next]) { next += 1 }
    return next < line.end && bytes[next] == UInt8(ascii: ":") ? .spaceBeforeColon : .fieldNameMalformed
  }

  /// Drops the fields that `Connection` names; a name that must not be there is the answer (RFC 9110 section 7.6.1).
  ///
  /// `isGateField` tells names that are the gate's besides `X-App-Attest-…`.
  mutating func dropFieldsNamedByConnection(isGateField: (Span<UInt8>) -> Bool) -> HeadRefusal? {
    let table = fields
    var named = InlineArray<32, ByteRange>(repeating: .empty)
    var count = 0
    let refusal: HeadRefusal? = bytes.withReadable { bytes in
      for field in table where field.name == .connection {
        var elements = ListElements(field.valueRange)
        while let element = elements.next(in: bytes) {
          let option = bytes.bytes(at: element)
          if option.isEmpty || option.equalsIgnoringCase("close") || option.equalsIgnoringCase("keep-alive") { continue }
          let name = FieldName(withAnySeparators: option)
          if name.isAppAttest || isGateField(option) { return .connectionNamesGateField }
          if name.isProtectedFromConnection { return .connectionNamesEndToEndField }
          // The parser has refused longer lists.
          guard count < HeadLimits.connectionOptionsMax else { return .connectionMalformed }
          named[count] = element
          count += 1
        }
      }
      return nil
    }
    if refusal != nil || count == 0 { return refusal }
    for index in fields.indices {
      let name = fields[index].nameRange
      let isNamed = bytes.withReadable { bytes in
        for option in 0..<count where Self.equalIgnoringCase(bytes.bytes(at: name), bytes.bytes(at: named[option])) { return true }
        return false
      }
      if isNamed { fields[index].flags.insert(.dropped) }
    }
    return nil
  }

  private static func equalIgnoringCase(_ left: Span<UInt8>, _ right: Span<UInt8>) -> Bool {
    guard left.count == right.count else { return false }
    for index in left.indices where ASCII.lowerCased(left[index]) != ASCII.lowerCased(right[index]) { return false }
    return true
  }

  /// Looks a field up by its name; dropped fields are not there, nor is any before the head is complete.
  func lookUp(where matches: (Field, Span<UInt8>) -> Bool) -> FieldLookup {
    bytes.withReadable { bytes in
      if bytes.isEmpty { return .absent }
      var result = FieldLookup.absent
      for field in fields where !field.flags.contains(.dropped) && matches(field, bytes) {
        guard result == .absent else { return .repeated }
        result = .one(field.valueRange)
      }
      return result
    }
  }

  /// Writes the fields that are passed on and that `keeps` keeps, in their order, as `Name: value` lines.
  ///
  /// Neighbours that already read so are copied together.
  func write(to output: inout ByteQueue, keeps: (Field, Span<UInt8>) -> Bool) {
    bytes.withReadable { bytes in
      var run = ByteRange.empty
      for field in fields {
        guard field.flags.isDisjoint(with: .notPassedOn), keeps(field, bytes) else { continue }
        let name = field.nameRange
        let value = field.valueRange
        if field.flags.contains(.canonical) {
          if run.end != name.start {
            output.append(bytes.bytes(at: run))
            run = name
          }
          run = ByteRange(from: run.start, to: value.end + 2)
        } else {
          output.append(bytes.bytes(at: run))
          run = .empty
          output.append(bytes.bytes(at: name))
          output.append(": ")
          output.append(bytes.bytes(at: value))
          output.append("\r\n")
        }
      }
      output.append(bytes.bytes(at: run))
    }
  }
}
