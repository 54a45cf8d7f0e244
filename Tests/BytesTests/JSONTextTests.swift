import Bytes
import Testing

@Suite struct JSONTextTests {
  // RFC 8259 section 7; Unicode table 3-7
  @Test(
    arguments: [
      (Array("".utf8), "\"\""), (Array("plain, Ünï€𝄞".utf8), "\"plain, Ünï€𝄞\""), (Array("a\"b\\c/".utf8), "\"a\\\"b\\\\c/\""),
      ([0x00, 0x09, 0x0A, 0x0D, 0x1F, 0x7F], "\"\\u0000\\t\\n\\r\\u001f\\u007f\""),
      ([0x61, 0xFF, 0x62], "\"a\u{FFFD}b\""), ([0xC3], "\"\u{FFFD}\""), ([0xC3, 0x22], "\"\u{FFFD}\\\"\""),
      ([0xC0, 0xAF], "\"\u{FFFD}\u{FFFD}\""), ([0xE0, 0x80, 0xAF], "\"\u{FFFD}\u{FFFD}\u{FFFD}\""),
      ([0xED, 0xA0, 0x80], "\"\u{FFFD}\u{FFFD}\u{FFFD}\""), ([0xF4, 0x90, 0x80, 0x80], "\"\u{FFFD}\u{FFFD}\u{FFFD}\u{FFFD}\""),
      ([0xE2, 0x82], "\"\u{FFFD}\u{FFFD}\""), ([0xF0, 0x9D, 0x84, 0x9E], "\"𝄞\""),
    ] as [([UInt8], String)])
  func bytesBecomeAStringThatIsAlwaysValid(bytes: [UInt8], expected: String) {
    var output = ByteQueue()
    JSONText.append(bytes.span, to: &output)
    #expect(String(decoding: output.copied(), as: UTF8.self) == expected)
  }

  @Test func whatIsWrittenIsUTF8WhateverComesIn() {
    var state: UInt64 = 1
    for _ in 0..<2_000 {
      let bytes = (0..<12).map { _ in
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return UInt8(truncatingIfNeeded: state >> 33)
      }
      var output = ByteQueue()
      JSONText.append(bytes.span, to: &output)
      #expect(String(validating: output.copied(), as: UTF8.self) != nil)
    }
  }
}

@Suite struct ControlScanTests {
  @Test func theFirstControlIsFoundAtEveryPlaceAndAmongAllBytes() {
    for byte in UInt8.min...UInt8.max {
      for length in [1, 7, 8, 9, 24] {
        for position in 0..<length {
          var bytes = [UInt8](repeating: 0x20, count: length)
          bytes[position] = byte
          let isControl = byte < 0x20 || byte == 0x7F
          #expect(bytes.span.firstControl(from: 0, to: length) == (isControl ? position : length))
        }
      }
    }
  }

  @Test func bytesAroundAControlDoNotHideIt() {
    for neighbour in [0x00, 0x1F, 0x20, 0x7E, 0x7F, 0x80, 0xFF] as [UInt8] {
      var bytes = [UInt8](repeating: 0x80, count: 16)
      bytes[3] = neighbour
      bytes[4] = 0x0D
      let isControl = neighbour < 0x20 || neighbour == 0x7F
      #expect(bytes.span.firstControl(from: 0, to: 16) == (isControl ? 3 : 4))
      #expect(bytes.span.firstControl(from: 4, to: 16) == 4)
      #expect(bytes.span.firstControl(from: 5, to: 16) == 16)
      #expect(bytes.span.firstControl(from: 0, to: 3) == 3)
    }
  }
}
