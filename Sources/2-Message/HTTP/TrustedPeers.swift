public import Bytes

/// Peers whose word about others is believed (`trusted_proxies` of a listener).
public struct TrustedPeers: Sendable, Equatable {
  /// Blocks of addresses.
  public var networks: [IPNetwork]
  /// Whether everybody who connects by a Unix socket is one of them: its file's rights say who may.
  public var includesUnix: Bool

  /// Nobody, or these.
  public init(networks: [IPNetwork] = [], includesUnix: Bool = false) {
    self.networks = networks
    self.includesUnix = includesUnix
  }

  /// Whether nobody is trusted.
  public var isEmpty: Bool { networks.isEmpty && !includesUnix }

  /// Whether a peer with this address is trusted; nil is a Unix socket's.
  public func contains(_ address: IPAddress?) -> Bool {
    guard let address else { return includesUnix }
    for network in networks where network.contains(address) { return true }
    return false
  }
}
