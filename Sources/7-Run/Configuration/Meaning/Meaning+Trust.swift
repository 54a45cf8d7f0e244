import Bytes
import Exchange
import HTTP

extension Meaning {
  /// Whom a listener believes what he says of others.
  func trust(_ settings: inout ListenerSettings, _ written: WrittenListener) {
    if let list = written.trustedProxies {
      checkDistinct(list, allowsNone: true)
      for entry in list.value {
        switch entry.value {
        case .network(let network): settings.trustedPeers.networks.append(network)
        case .unix: settings.trustedPeers.includesUnix = true
        }
      }
    }
    fill(&settings.expectsProxyHeader, written.proxyProtocol)
    let isWrong = written.trustedProxies == nil && written.trustedProxiesIsThere
    guard settings.expectsProxyHeader, settings.trustedPeers.isEmpty, !isWrong, let written = written.proxyProtocol else { return }
    problems.add(written, "needs trusted_proxies beside it: who may say where a connection comes from; from others nothing would be taken")
  }
}
