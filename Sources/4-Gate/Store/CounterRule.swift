/// How a route accepts counters.
public enum CounterRule: Sendable, Equatable {
  /// Greater than the stored one.
  case strict
  /// RFC 4303 section 3.4.3: any not yet seen value above highest − window; 1 to 1,024.
  case window(Int)
}

extension CounterRule {
  /// The window's width as the scripts take it: 0 stands for strict.
  var width: Int {
    switch self {
    case .strict: 0
    case .window(let width): width
    }
  }
}
