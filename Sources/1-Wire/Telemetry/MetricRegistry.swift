import Synchronization

/// A metric's name and meaning. Names follow Prometheus: prefix, base unit, `_total` for counters.
public struct MetricFamily: Sendable, Hashable {
  /// How the number behaves.
  public enum Kind: String, Sendable {
    /// Only rises.
    case counter
    /// Rises and falls.
    case gauge
    /// Counts in buckets.
    case histogram
  }

  /// The name as it is scraped.
  public let name: String
  /// How the number behaves.
  public let kind: Kind
  /// One sentence for people.
  public let help: String

  /// A family.
  public init(_ name: String, _ kind: Kind, _ help: String) {
    self.name = name
    self.kind = kind
    self.help = help
  }
}

/// A label of a metric. Values come from configuration and from closed sets, never from a client.
public struct MetricLabel: Sendable, Hashable {
  /// The label's name.
  public let name: String
  /// The label's value.
  public let value: String

  /// A label.
  public init(_ name: String, _ value: String) {
    self.name = name
    self.value = value
  }
}

/// The metrics of one worker: made by it, read by a scrape.
public final class MetricRegistry: Sendable {
  /// What a series measures with.
  public enum Instrument: Sendable {
    /// A counter.
    case counter(Counter)
    /// A gauge.
    case gauge(Gauge)
    /// A histogram.
    case histogram(Histogram)
  }

  /// One family with one set of labels.
  public struct Series: Sendable {
    /// The family.
    public let family: MetricFamily
    /// The labels, in the order they are written.
    public let labels: [MetricLabel]
    /// The numbers.
    public let instrument: Instrument
  }

  private struct Key: Hashable {
    var name: String
    var labels: [MetricLabel]
  }

  private struct Contents {
    var series: [Series] = []
    var places: [Key: Int] = [:]
  }

  // Locked when a series is made or scraped; never to count.
  private let contents = Mutex(Contents())

  /// A registry without metrics.
  public init() {}

  /// The counter of this family and these labels, made when it is new.
  public func counter(_ family: MetricFamily, _ labels: [MetricLabel] = []) -> Counter {
    let instrument = series(family, labels) { .counter(Counter()) }
    guard case .counter(let counter) = instrument else { preconditionFailure("\(family.name) is no counter") }
    return counter
  }

  /// The gauge of this family and these labels, made when it is new.
  public func gauge(_ family: MetricFamily, _ labels: [MetricLabel] = []) -> Gauge {
    let instrument = series(family, labels) { .gauge(Gauge()) }
    guard case .gauge(let gauge) = instrument else { preconditionFailure("\(family.name) is no gauge") }
    return gauge
  }

  /// The histogram of this family and these labels, made when it is new.
  public func histogram(_ family: MetricFamily, _ labels: [MetricLabel] = []) -> Histogram {
    let instrument = series(family, labels) { .histogram(Histogram()) }
    guard case .histogram(let histogram) = instrument else { preconditionFailure("\(family.name) is no histogram") }
    return histogram
  }

  /// Every series, in the order in which they were made.
  public func allSeries() -> [Series] { contents.withLock { $0.series } }

  /// Forgets every series that has all of these labels: what they were about is gone for good.
  public func removeSeries(with labels: [MetricLabel]) {
    contents.withLock { contents in
      contents.series.removeAll { series in labels.allSatisfy(series.labels.contains) }
      contents.places.removeAll(keepingCapacity: true)
      for (place, series) in contents.series.enumerated() {
        contents.places[Key(name: series.family.name, labels: series.labels)] = place
      }
    }
  }

  private func series(_ family: MetricFamily, _ labels: [MetricLabel], make: () -> Instrument) -> Instrument {
    contents.withLock { contents in
      let key = Key(name: family.name, labels: labels)
      if let place = contents.places[key] { return contents.series[place].instrument }
      let instrument = make()
      contents.places[key] = contents.series.count
      contents.series.append(Series(family: family, labels: labels, instrument: instrument))
      return instrument
    }
  }
}
