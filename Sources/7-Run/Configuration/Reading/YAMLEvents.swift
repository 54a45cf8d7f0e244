import CYAML

/// What libyaml reports, copied out of its memory.
enum YAMLEvent {
  case streamStart, streamEnd, documentStart, documentEnd
  case alias(String, Place)
  case scalar(String, isPlain: Bool, tag: String?, anchor: String?, Place)
  case sequenceStart(tag: String?, anchor: String?, Place)
  case mappingStart(tag: String?, anchor: String?, Place)
  case sequenceEnd, mappingEnd
}

/// Why a text is no YAML document that is read here.
struct YAMLFailure: Error, Equatable {
  var place: Place
  var message: String
}

/// libyaml's parser over a copy of the text: the only place of this module that touches C memory.
@safe
final class YAMLEvents {
  // Both live exactly as long as this object; the parser reads `input` in place.
  private let parser: UnsafeMutablePointer<yaml_parser_t>
  private let input: UnsafeMutableBufferPointer<UInt8>

  init(_ text: [UInt8]) {
    unsafe input = .allocate(capacity: max(1, text.count))
    _ = unsafe input.initialize(from: text)
    unsafe parser = .allocate(capacity: 1)
    precondition(unsafe yaml_parser_initialize(parser) == 1, "libyaml has no memory")
    unsafe yaml_parser_set_encoding(parser, YAML_UTF8_ENCODING)
    unsafe yaml_parser_set_input_string(parser, input.baseAddress, text.count)
  }

  deinit {
    unsafe yaml_parser_delete(parser)
    unsafe parser.deallocate()
    unsafe input.deallocate()
  }

  /// The next event. Not to be called again after the stream's end or a failure.
  func next() throws(YAMLFailure) -> YAMLEvent {
    var event = unsafe yaml_event_t()
    guard unsafe yaml_parser_parse(parser, &event) == 1 else { throw failure }
    // The event's texts are copied before they are freed.
    defer { unsafe yaml_event_delete(&event) }
    let place = unsafe Self.place(event.start_mark)
    switch unsafe event.type {
    case YAML_STREAM_START_EVENT: return .streamStart
    case YAML_DOCUMENT_START_EVENT: return .documentStart
    case YAML_DOCUMENT_END_EVENT: return .documentEnd
    case YAML_SEQUENCE_END_EVENT: return .sequenceEnd
    case YAML_MAPPING_END_EVENT: return .mappingEnd
    case YAML_ALIAS_EVENT: return unsafe .alias(Self.text(event.data.alias.anchor) ?? "", place)
    case YAML_SCALAR_EVENT:
      let scalar = unsafe event.data.scalar
      let bytes = unsafe UnsafeBufferPointer(start: scalar.value, count: scalar.length)
      // libyaml has checked that the text is UTF-8.
      let text = unsafe String(decoding: bytes, as: UTF8.self)
      let isPlain = unsafe scalar.style == YAML_PLAIN_SCALAR_STYLE
      return unsafe .scalar(text, isPlain: isPlain, tag: Self.text(scalar.tag), anchor: Self.text(scalar.anchor), place)
    case YAML_SEQUENCE_START_EVENT:
      let start = unsafe event.data.sequence_start
      return unsafe .sequenceStart(tag: Self.text(start.tag), anchor: Self.text(start.anchor), place)
    case YAML_MAPPING_START_EVENT:
      let start = unsafe event.data.mapping_start
      return unsafe .mappingStart(tag: Self.text(start.tag), anchor: Self.text(start.anchor), place)
    default: return .streamEnd
    }
  }

  private var failure: YAMLFailure {
    let isReaderError = unsafe parser.pointee.error == YAML_READER_ERROR
    let place = unsafe Self.place(isReaderError ? parser.pointee.mark : parser.pointee.problem_mark)
    let problem = unsafe parser.pointee.problem.map { unsafe String(cString: $0) } ?? "it cannot be read"
    let context = unsafe parser.pointee.context.map { unsafe " " + String(cString: $0) } ?? ""
    let offset = unsafe Int(parser.pointee.problem_mark.index)
    let isTab = unsafe !isReaderError && offset < input.count && input[offset] == UInt8(ascii: "\t")
    return YAMLFailure(place: place, message: "is not YAML: \(problem)\(context)\(isTab ? "; indent with spaces, not with tabs" : "")")
  }

  private static func place(_ mark: yaml_mark_t) -> Place { Place(line: Int(mark.line) + 1, column: Int(mark.column) + 1) }

  private static func text(_ pointer: UnsafeMutablePointer<yaml_char_t>?) -> String? {
    unsafe pointer.map { unsafe String(cString: $0) }
  }
}
