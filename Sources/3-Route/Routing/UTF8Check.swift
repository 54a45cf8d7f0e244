/// Follows decoded bytes one by one and says where they stop being UTF-8 (RFC 3629 section 4).
struct UTF8Check {
  enum Step { case valid, invalid, control }

  private var remaining = 0
  private var low: UInt8 = 0x80
  private var high: UInt8 = 0xBF
  private var isAfterC2 = false

  /// Whether no character is left half-done.
  var isComplete: Bool { remaining == 0 }

  /// The next byte, which is 0x80 or above.
  mutating func next(_ byte: UInt8) -> Step {
    if remaining == 0 { return lead(byte) }
    // C2 80 to C2 9F are the controls U+0080 to U+009F.
    if isAfterC2 && byte < 0xA0 { return .control }
    guard byte >= low && byte <= high else { return .invalid }
    remaining -= 1
    low = 0x80
    high = 0xBF
    isAfterC2 = false
    return .valid
  }

  private mutating func lead(_ byte: UInt8) -> Step {
    switch byte {
    case 0xC2...0xDF: remaining = 1
    case 0xE0...0xEF: remaining = 2
    case 0xF0...0xF4: remaining = 3
    default: return .invalid
    }
    switch byte {
    case 0xC2: isAfterC2 = true
    case 0xE0: low = 0xA0
    case 0xED: high = 0x9F
    case 0xF0: low = 0x90
    case 0xF4: high = 0x8F
    default: break
    }
    return .valid
  }
}
