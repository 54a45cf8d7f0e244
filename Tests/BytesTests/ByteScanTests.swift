import Bytes
import Testing

/// Whether bytes are looked at alone or eight at a time makes no difference.
@Suite struct ByteScanTests {
  /// A text of plain bytes with `byte` in one place of it, for every byte and every place.
  private static func eachByteInEachPlace(of text: String, _ look: (_ text: [UInt8], _ place: Int) -> Void) {
    let plain = Array(text.utf8)
    for place in plain.indices {
      for byte in UInt8.min...UInt8.max {
        var spoiled = plain
        spoiled[place] = byte
        look(spoiled, place)
      }
    }
  }

  @Test func aControlIsFoundWhereverItIs() {
    Self.eachByteInEachPlace(of: "text without controls") { text, _ in
      for start in [0, 1, 9] {
        let expected = text.indices.dropFirst(start).first { text[$0] < 0x20 || text[$0] == 0x7F } ?? text.count
        let found = text.span.firstControl(from: start, to: text.count)
        #expect(found == expected)
      }
    }
  }

  @Test func theEndOfANameIsFoundWhereverItIs() {
    let plain = Set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-".utf8)
    Self.eachByteInEachPlace(of: "X-App-Attest-Key-1d09az") { text, _ in
      for end in [text.count, text.count - 3] {
        let found = text.span.firstBeyondName(from: 0, to: end)
        #expect(found == text[..<end].firstIndex { !plain.contains($0) } ?? end)
      }
    }
  }

  @Test func theEndOfPlainJSONIsFoundWhereverItIs() {
    Self.eachByteInEachPlace(of: "eine Zeichenkette €") { text, _ in
      let expected = text.firstIndex { $0 < 0x20 || $0 == UInt8(ascii: "\"") || $0 == UInt8(ascii: "\\") } ?? text.count
      let found = text.span.endOfPlainJSON(from: 0)
      #expect(found == expected)
    }
    // One behind the other, so that a borrow of the first could hide the second or make one up.
    for text in ["\"\"\"\"\"\"\"\"", "!\"#!\"#!\"", "[\\][\\][\\", "\u{1F} !\u{0} !\u{1} "] {
      let bytes = Array(text.utf8)
      for start in bytes.indices {
        let expected = bytes.indices.dropFirst(start).first { bytes[$0] < 0x20 || bytes[$0] == 0x22 || bytes[$0] == 0x5C } ?? bytes.count
        let found = bytes.span.endOfPlainJSON(from: start)
        #expect(found == expected)
      }
    }
  }

  private static func isSameIgnoringCase(_ text: [UInt8], _ lowerCase: [UInt8]) -> Bool { text.span.equalsIgnoringCase(lowerCase.span) }

  @Test(arguments: ["te", "-z_a[{@`", "x-app-attest-assertion", "proxy-authentication-info", "sec-websocket-key"])
  func onlyTheCaseOfLettersMakesNoDifference(name: String) {
    let lowerCase = Array(name.utf8)
    Self.eachByteInEachPlace(of: name) { text, place in
      #expect(Self.isSameIgnoringCase(text, lowerCase) == (lowerCase[place] == ASCII.lowerCased(text[place])))
    }
    #expect(Self.isSameIgnoringCase(Array(name.uppercased().utf8), lowerCase))
    #expect(!Self.isSameIgnoringCase(Array((name + "x").utf8), lowerCase))
    #expect(!Self.isSameIgnoringCase(Array(name.dropLast().utf8), lowerCase))
  }
}
