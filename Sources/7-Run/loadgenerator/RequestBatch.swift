/// The requests of one connection for one round: their heads one behind the other, and the one body that all of them have.
struct RequestBatch {
  private var heads: [UInt8] = []
  private var ends: [Int] = []
  let body: [UInt8]

  init(body: [UInt8]) { self.body = body }

  var count: Int { ends.count }

  mutating func append(head: String) {
    heads += head.utf8
    ends.append(heads.count)
  }

  /// Gives the request with this number to a connection.
  func append(_ index: Int, to connection: ClientConnection) {
    let start = index == 0 ? 0 : ends[index - 1]
    connection.append(heads.span.extracting(start..<ends[index]))
    connection.append(body.span)
  }
}
