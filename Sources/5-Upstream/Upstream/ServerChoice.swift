import EventLoop

/// Which server of an upstream gets the next request. Choosing allocates nothing.
struct ServerChoice {
  private let balance: UpstreamSettings.Balance
  private var turn = 0
  private var random: SplitMix

  init(_ balance: UpstreamSettings.Balance, seed: UInt64 = .random(in: .min ... .max)) {
    self.balance = balance
    random = SplitMix(state: seed)
  }

  /// The next server among those that are available; when none is, one of the others: better a try than a certain refusal. Nil when all
  /// were tried.
  mutating func next(of servers: [ServerPool], besides tried: [ServerPool], now: Instant) -> ServerPool? {
    if servers.count == 1 { return tried.isEmpty ? servers[0] : nil }
    if balance == .leastConnections, let server = idlerOfTwo(servers, besides: tried, now) { return server }
    return nextInTurn(servers, besides: tried, now)
  }

  private mutating func nextInTurn(_ servers: [ServerPool], besides tried: [ServerPool], _ now: Instant) -> ServerPool? {
    var other: Int?
    for offset in 0..<servers.count {
      let index = (turn &+ offset) % servers.count
      if tried.contains(where: { $0 === servers[index] }) { continue }
      if servers[index].state.isAvailable(at: now) {
        turn = index + 1
        return servers[index]
      }
      other = other ?? index
    }
    guard let other else { return nil }
    turn = other + 1
    return servers[other]
  }

  /// The one with fewer requests under way of two available servers taken at random: nearly as even as the least of all, and workers
  /// that count apart do not all run to the same one.
  private mutating func idlerOfTwo(_ servers: [ServerPool], besides tried: [ServerPool], _ now: Instant) -> ServerPool? {
    var count = 0
    for server in servers where Self.isCandidate(server, tried, now) { count += 1 }
    guard count > 0 else { return nil }
    let first = Int(random.next(upperBound: UInt(count)))
    // Another one than the first, each with the same chance.
    let second = count == 1 ? first : (first + 1 + Int(random.next(upperBound: UInt(count - 1)))) % count
    var chosen: ServerPool?
    var number = 0
    for server in servers where Self.isCandidate(server, tried, now) {
      if number == first || number == second {
        if let other = chosen {
          // Whichever was drawn first wins a tie.
          let isIdler = server.requestCount < other.requestCount || (server.requestCount == other.requestCount && number == first)
          return isIdler ? server : other
        }
        chosen = server
      }
      number += 1
    }
    return chosen
  }

  private static func isCandidate(_ server: ServerPool, _ tried: [ServerPool], _ now: Instant) -> Bool {
    server.state.isAvailable(at: now) && !tried.contains { $0 === server }
  }
}

/// Steele, Lea and Flood's SplitMix64: for spreading load, not for secrets. The system's generator is a call of the kernel each time.
struct SplitMix: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }
}
