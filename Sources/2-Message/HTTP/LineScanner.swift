import Bytes

/// What the bytes hold from where the last line ended.
enum LineOutcome {
  /// No whole line yet.
  case incomplete
  /// A line without its CRLF.
  case line(ByteRange)
  /// The line would go beyond what the caller allows.
  case tooLong
  /// A byte that no line may hold.
  case refused(HeadRefusal)
}

/// Cuts a head into lines and looks at each byte once, however often it is asked: it remembers how far it came.
///
/// Whatever it answers depends on the bytes alone, not on the pieces they came in.
struct LineScanner {
  /// Offset of the line that is being read.
  private(set) var lineStart = 0
  /// Offset up to which there is neither a line's end nor a refused byte.
  private var scanned = 0

  /// Whether a part of a line has been passed over.
  var isInsideLine: Bool { scanned > lineStart }

  /// The next line; `end` is the first offset that its CRLF may not reach.
  mutating func next(in bytes: Span<UInt8>, before end: Int) -> LineOutcome {
    precondition(bytes.count >= scanned, "the bytes of an incomplete head were consumed")
    let stop = min(bytes.count, max(end, scanned))
    var index = scanned
    while true {
      index = bytes.firstControl(from: index, to: stop)
      guard index < stop else { return pause(at: stop, isOver: stop >= end) }
      switch bytes[index] {
      case 0x09:
        // A tab is good in a field's value only; names and start lines are checked by themselves.
        index += 1
      case 0x0D:
        guard index + 1 < stop else { return pause(at: index, isOver: stop >= end) }
        guard bytes[index + 1] == 0x0A else { return .refused(.bareCarriageReturn) }
        let line = ByteRange(from: lineStart, to: index)
        lineStart = index + 2
        scanned = lineStart
        return .line(line)
      case 0x0A: return .refused(.bareLineFeed)
      default: return .refused(.controlCharacter)
      }
    }
  }

  private mutating func pause(at index: Int, isOver: Bool) -> LineOutcome {
    scanned = index
    return isOver ? .tooLong : .incomplete
  }
}
