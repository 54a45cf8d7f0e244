public import Bytes
public import Telemetry

/// Metrics as Prometheus scrapes them (text format 0.0.4): the sum over all workers. It renders and measures nothing.
public enum Exposition {
  private struct Key: Hashable {
    var family: String
    var labels: [MetricLabel]
  }

  private enum Sum {
    case number(Double)
    case histogram([UInt64], nanoseconds: UInt64)
  }

  /// Renders every series of `registries`.
  public static func render(_ registries: [MetricRegistry]) -> ByteQueue {
    var families: [MetricFamily] = []
    var order: [String: [Key]] = [:]
    var sums: [Key: Sum] = [:]
    for series in registries.flatMap({ $0.allSeries() }) {
      let key = Key(family: series.family.name, labels: series.labels)
      if order[key.family] == nil { families.append(series.family) }
      if sums[key] == nil { order[key.family, default: []].append(key) }
      sums[key] = add(series.instrument, to: sums[key])
    }
    var output = ByteQueue()
    for family in families {
      appendHeader(family, to: &output)
      for key in order[family.name] ?? [] { append(key, sums[key], to: &output) }
    }
    return output
  }

  /// Appends the two lines that introduce a family.
  static func appendHeader(_ family: MetricFamily, to output: inout ByteQueue) {
    output.append("# HELP \(family.name) \(family.help)\n# TYPE \(family.name) \(family.kind.rawValue)\n")
  }

  private static func add(_ instrument: MetricRegistry.Instrument, to sum: Sum?) -> Sum {
    switch (instrument, sum) {
    case (.counter(let counter), .number(let before)?): return .number(before + Double(counter.value))
    case (.counter(let counter), _): return .number(Double(counter.value))
    case (.gauge(let gauge), .number(let before)?): return .number(before + Double(gauge.value))
    case (.gauge(let gauge), _): return .number(Double(gauge.value))
    case (.histogram(let histogram), let before):
      let (buckets, nanoseconds) = histogram.snapshot()
      guard case .histogram(let counts, let total)? = before else { return .histogram(buckets, nanoseconds: nanoseconds) }
      return .histogram(zip(buckets, counts).map { $0 &+ $1 }, nanoseconds: total &+ nanoseconds)
    }
  }

  private static func append(_ key: Key, _ sum: Sum?, to output: inout ByteQueue) {
    switch sum {
    case .number(let value)?: output.append("\(key.family)\(braced(key.labels)) \(number(value))\n")
    case .histogram(let buckets, let nanoseconds)?:
      var total: UInt64 = 0
      for (index, count) in buckets.enumerated() {
        total &+= count
        let bound =
          index < Histogram.boundsNanoseconds.count ? number(Double(Histogram.boundsNanoseconds[index]) / 1_000_000_000) : "+Inf"
        output.append("\(key.family)_bucket\(braced(key.labels + [MetricLabel("le", bound)])) \(total)\n")
      }
      output.append("\(key.family)_sum\(braced(key.labels)) \(number(Double(nanoseconds) / 1_000_000_000))\n")
      output.append("\(key.family)_count\(braced(key.labels)) \(total)\n")
    case nil: break
    }
  }

  /// Whole numbers without a fraction.
  static func number(_ value: Double) -> String {
    value == value.rounded() && value.magnitude < 1e15 ? "\(Int(value))" : "\(value)"
  }

  private static func braced(_ labels: [MetricLabel]) -> String {
    guard !labels.isEmpty else { return "" }
    let pairs = labels.map { label in
      let escaped = label.value.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"").replacing("\n", with: "\\n")
      return "\(label.name)=\"\(escaped)\""
    }
    return "{\(pairs.joined(separator: ","))}"
  }
}
