import Fixtures
import Glibc
import Synchronization
import Testing

/// Bodies that are larger than memory, or that never end.
@Suite struct StreamingTests {
  private static let mebibyte = 1 << 20
  /// What buffers of the kernel, of the gate and of the loopback may hold together, generously.
  private static let heldBytesMax = 64 * mebibyte

  @Test(.timeLimit(.minutes(5))) func aDownloadOfAGibibyteToASlowClientLeavesMemoryFlat() throws {
    let sent = Atomic(0)
    let size = 1 << 30
    try withProxy(script: { exchange in
      try exchange.send("HTTP/1.1 200 OK\r\nContent-Length: \(size)\r\n\r\n")
      let block = [UInt8](repeating: 0x61, count: Self.mebibyte)
      for _ in 0..<size / block.count {
        try exchange.connection.send(block)
        sent.add(block.count, ordering: .relaxed)
      }
    }) { gate, _ in
      _ = try? gate.admin("/metrics")
      let client = try gate.connect(receiveBufferBytes: 256 << 10)
      let before = gate.process.residentBytes
      try client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
      let head = try client.readAnswerHead()
      #expect(head.value("Content-Length") == "\(size)")
      // While the client reads nothing, the upstream is held up: that is back-pressure. What it could send stands still.
      var standing = -1
      let stands = eventually(within: 20_000) {
        usleep(300_000)
        defer { standing = sent.load(ordering: .relaxed) }
        return standing == sent.load(ordering: .relaxed)
      }
      #expect(stands)
      #expect(sent.load(ordering: .relaxed) < Self.heldBytesMax)
      var highest = gate.process.residentBytes
      var received = 0
      while received < size {
        let bytes = try client.readSome(atMost: Self.mebibyte)
        guard !bytes.isEmpty else { break }
        received += bytes.count
        if received % (16 * Self.mebibyte) < bytes.count { highest = max(highest, gate.process.residentBytes) }
      }
      #expect(received == size)
      #expect(highest - before < 16 * Self.mebibyte, "from \(before >> 10) KiB to \(highest >> 10) KiB")
    }
  }

  @Test(.timeLimit(.minutes(3))) func anUploadToASlowUpstreamLeavesMemoryFlat() throws {
    let mayRead = Latch()
    let size = 256 * Self.mebibyte
    try withProxy(script: { exchange in
      mayRead.wait()
      var left = size
      while left > 0 { left -= try exchange.connection.readExactly(min(left, Self.mebibyte)).count }
      try exchange.send("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ndone")
      _ = exchange.waitForHangUp()
    }) { gate, _ in
      let client = try gate.connect()
      let before = gate.process.residentBytes
      try client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: \(size)\r\n\r\n")
      let block = [UInt8](repeating: 0x62, count: Self.mebibyte)
      var sent = 0
      var quietSince = monotonicMilliseconds()
      // Send until the gate takes no more for a while: it must not swallow what the upstream does not read.
      while sent < size, monotonicMilliseconds() - quietSince < 500 {
        let count = try #require(client.sendWithoutWaiting(Array(block.prefix(size - sent))))
        sent += count
        if count > 0 { quietSince = monotonicMilliseconds() } else { usleep(5_000) }
      }
      #expect(sent < Self.heldBytesMax)
      var highest = gate.process.residentBytes
      mayRead.open()
      while sent < size {
        let part = Array(block.prefix(size - sent))
        try client.send(part)
        sent += part.count
        highest = max(highest, gate.process.residentBytes)
      }
      #expect(try client.readAnswer().text == "done")
      #expect(highest - before < 16 * Self.mebibyte, "from \(before >> 10) KiB to \(highest >> 10) KiB")
    }
  }

  @Test func serverSentEventsArriveOneByOne() throws {
    let latches = (0..<5).map { _ in Latch() }
    try withProxy(script: { exchange in
      try exchange.send("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
      for (number, latch) in latches.enumerated() {
        try exchange.sendChunk("data: \(number)\n\n")
        latch.wait()
      }
      try exchange.sendChunk("")
    }) { gate, _ in
      let client = try gate.connect()
      try client.send("GET /events HTTP/1.1\r\nHost: a\r\nAccept: text/event-stream\r\n\r\n")
      var answer = try client.readAnswerHead()
      #expect(answer.value("Content-Type") == "text/event-stream")
      for (number, latch) in latches.enumerated() {
        // The next event is only made once this one was read, so none can be held back to be sent with another.
        #expect(try client.readChunk(of: &answer))
        #expect(answer.text.hasSuffix("data: \(number)\n\n"))
        latch.open()
      }
      #expect(try !client.readChunk(of: &answer))
    }
  }

  @Test func eventsOfAServerThatClosesAtTheEndArriveOneByOne() throws {
    let latches = (0..<3).map { _ in Latch() }
    try withProxy(script: { exchange in
      try exchange.send("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n")
      for (number, latch) in latches.enumerated() {
        try exchange.send("data: \(number)\n\n")
        latch.wait()
      }
      exchange.close()
    }) { gate, _ in
      let client = try gate.connect()
      try client.send("GET /events HTTP/1.1\r\nHost: a\r\n\r\n")
      var answer = try client.readAnswerHead()
      for (number, latch) in latches.enumerated() {
        #expect(try client.readChunk(of: &answer))
        #expect(answer.text.hasSuffix("data: \(number)\n\n"))
        latch.open()
      }
      #expect(try !client.readChunk(of: &answer))
    }
  }

  @Test func aBodyGoesToTheUpstreamAsItComes() throws {
    let halfWasRead = Latch()
    try withProxy(script: { exchange in
      #expect(try exchange.connection.readExactly(5) == Array("first".utf8))
      halfWasRead.open()
      #expect(try exchange.connection.readExactly(6) == Array("second".utf8))
      try exchange.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
      _ = exchange.waitForHangUp()
    }) { gate, _ in
      let client = try gate.connect()
      try client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 11\r\n\r\nfirst")
      #expect(halfWasRead.wait())
      try client.send("second")
      #expect(try client.readAnswer().text == "ok")
    }
  }

  @Test func aClientThatReadsNothingIsGivenUp() throws {
    try withProxy(
      script: { exchange in
        try exchange.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        while true { try exchange.sendChunk(String(repeating: "x", count: 65_536)) }
      }, listener: ["write_timeout: 500ms"]
    ) { gate, upstream in
      let client = try gate.connect(receiveBufferBytes: 64 << 10)
      try client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
      #expect(eventually(within: 20_000) { upstream.requests.count == 1 && upstream.openConnectionCount == 0 })
      client.close()
    }
  }
}
