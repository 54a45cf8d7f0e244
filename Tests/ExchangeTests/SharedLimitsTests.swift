import EventLoop
import Testing

@testable import Exchange

@Suite struct SharedLimitsTests {
  private let now = Instant(nanoseconds: 1_000_000_000_000)

  private func network(_ host: String) throws -> ClientNetwork {
    try #require(SocketAddress(host: host, port: 1).flatMap(ClientNetwork.init))
  }

  private func limit(_ connections: Int, perAddress: Int) -> ConnectionLimit {
    var settings = ListenerSettings(bind: BindAddress(host: "127.0.0.1", port: 0))
    settings.connectionsMax = connections
    settings.connectionsPerAddressMax = perAddress
    return ConnectionLimit(settings)
  }

  @Test func placesComeFreeWhenTheyEnd() throws {
    let limit = limit(2, perAddress: 2)
    do {
      let first = limit.reserve()
      let second = limit.reserve()
      let third = limit.reserve()
      let areTwo = first != nil && second != nil && third == nil
      #expect(areTwo)
      #expect(limit.isReached && limit.count == 2)
    }
    #expect(!limit.isReached && limit.count == 0)
  }

  @Test func anAddressHasOnlySoManyPlacesAndGetsThemBack() throws {
    let limit = limit(10, perAddress: 1)
    let (one, other) = (try network("10.0.0.1"), try network("10.0.0.2"))
    for _ in 0..<3 {
      var first = try take(limit)
      var second = try take(limit)
      let claims = [first.claim(one), second.claim(one), second.claim(other)]
      #expect(claims == [true, false, true])
    }
    #expect(limit.count == 0)
  }

  private func take(_ limit: ConnectionLimit) throws -> ConnectionSlot {
    guard let slot = limit.reserve() else { throw NoPlace() }
    return slot
  }
  private struct NoPlace: Error {}

  @Test func aStoppingGateTakesWhatTheKernelHasAccepted() {
    let limit = limit(1, perAddress: 1)
    let first = limit.reserve()
    let second = limit.reserve(always: true)
    let areTwo = first != nil && second != nil
    #expect(areTwo)
    #expect(limit.count == 2)
  }

  @Test func everyNetworkAndEveryLimitHasItsOwnBucket() throws {
    let table = RateTable()
    let rate = Rate(1, per: .second, burst: 2)
    let networks = [try network("10.0.0.1"), try network("10.0.0.2"), try network("2001:db8::1")]
    for network in networks {
      for number in 0..<3 {
        #expect(table.take(rate, of: network, limit: number, now: now) == nil)
        #expect(table.take(rate, of: network, limit: number, now: now) == nil)
        #expect(table.take(rate, of: network, limit: number, now: now) == 1_000_000_000)
      }
    }
  }

  @Test func aFloodOfNetworksRefusesNobodyAndKeepsTheBusiest() throws {
    let table = RateTable()
    let rate = Rate(1, per: .second, burst: 100)
    let busy = try network("192.0.2.1")
    for _ in 0..<100 { #expect(table.take(rate, of: busy, limit: 0, now: now) == nil) }
    for number in 0..<2 * RateTable.capacity {
      let flooding = try network("10.\(number >> 16 & 255).\(number >> 8 & 255).\(number & 255)")
      guard table.take(rate, of: flooding, limit: 0, now: now) == nil else {
        Issue.record("a network that came for the first time was refused")
        return
      }
    }
    #expect(table.take(rate, of: busy, limit: 0, now: now) != nil)
  }

  @Test func enrolmentsOfAllClientsShareOneBucket() throws {
    let limits = SharedLimits()
    let rate = Rate(1, per: .second, burst: 2)
    #expect(limits.takeEnrolment(rate, now: now) == nil)
    #expect(limits.takeEnrolment(rate, now: now) == nil)
    #expect(limits.takeEnrolment(rate, now: now) == 1_000_000_000)
    #expect(limits.takeEnrolment(nil, now: now) == nil)
  }
}
