import Bytes
import Telemetry
import Testing

@testable import Administration

/// The text format of Prometheus, version 0.0.4.
@Suite struct ExpositionTests {
  private static func text(_ registries: MetricRegistry...) -> String {
    String(decoding: Exposition.render(registries).copied(), as: UTF8.self)
  }

  @Test func aFamilyIsIntroducedOnceBeforeAllItsSeries() {
    let requests = MetricFamily("attestgate_requests_total", .counter, "Requests.")
    let open = MetricFamily("attestgate_connections", .gauge, "Connections.")
    let first = MetricRegistry()
    let second = MetricRegistry()
    first.counter(requests, [MetricLabel("code", "200")]).add(2)
    first.gauge(open).add(5)
    // Another order, and a series of which the first knows nothing.
    second.gauge(open).add(-1)
    second.counter(requests, [MetricLabel("code", "404")]).add(1)
    second.counter(requests, [MetricLabel("code", "200")]).add(40)
    #expect(
      Self.text(first, second) == """
        # HELP attestgate_requests_total Requests.
        # TYPE attestgate_requests_total counter
        attestgate_requests_total{code="200"} 42
        attestgate_requests_total{code="404"} 1
        # HELP attestgate_connections Connections.
        # TYPE attestgate_connections gauge
        attestgate_connections 4

        """)
  }

  @Test func aHistogramIsCumulativeAndEndsWithEverything() {
    let family = MetricFamily("attestgate_request_duration_seconds", .histogram, "Time.")
    let registries = [MetricRegistry(), MetricRegistry()]
    for nanoseconds: UInt64 in [100_000, 250_000, 300_000, 20_000_000_000] {
      registries[0].histogram(family, [MetricLabel("route", "/a")]).observe(nanoseconds: nanoseconds)
    }
    registries[1].histogram(family, [MetricLabel("route", "/a")]).observe(nanoseconds: 1_000_000_000)
    let lines = Self.text(registries[0], registries[1]).split(separator: "\n").map(String.init)
    let buckets = lines.filter { $0.contains("_bucket") }
    #expect(buckets.count == 16)
    #expect(buckets[0] == #"attestgate_request_duration_seconds_bucket{route="/a",le="0.00025"} 2"#)
    #expect(buckets[1] == #"attestgate_request_duration_seconds_bucket{route="/a",le="0.0005"} 3"#)
    #expect(buckets[10].hasSuffix(#"le="0.5"} 3"#))
    #expect(buckets[11].hasSuffix(#"le="1"} 4"#))
    #expect(buckets[14].hasSuffix(#"le="10"} 4"#))
    #expect(buckets[15].hasSuffix(#"le="+Inf"} 5"#))
    #expect(
      lines.suffix(2) == [
        #"attestgate_request_duration_seconds_sum{route="/a"} 21.00065"#, #"attestgate_request_duration_seconds_count{route="/a"} 5"#,
      ])
  }

  @Test func labelsAreEscapedAsTheFormatWants() {
    let registry = MetricRegistry()
    registry.counter(MetricFamily("a", .counter, "A."), [MetricLabel("route", "/\"quoted\"\\n\n"), MetricLabel("b", "é{},=")]).add()
    #expect(Self.text(registry).hasSuffix("a{route=\"/\\\"quoted\\\"\\\\n\\n\",b=\"é{},=\"} 1\n"))
  }

  @Test(
    arguments: [
      (0, "0"), (-3, "-3"), (0.25, "0.25"), (1_700_000_000, "1700000000"), (1_700_000_000.5, "1700000000.5"), (0.0005, "0.0005"),
    ] as [(Double, String)])
  func numbersAreWrittenShort(value: Double, text: String) {
    #expect(Exposition.number(value) == text)
  }

  @Test func nothingMeasuredIsAnEmptyPage() {
    #expect(Self.text(MetricRegistry()) == "")
  }
}
