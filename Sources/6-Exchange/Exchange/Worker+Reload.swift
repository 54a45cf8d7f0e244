public import EventLoop
public import Store
import Upstream

/// A store that was dropped by a reload, for as long as anything may ask it.
struct FormerStore {
  let store: any Store
  weak var user: WorkerContext?
}

/// Going over to another configuration while connections live on.
extension Worker {
  /// Opens the way to another store beside the one in use; ``serve(_:services:sockets:)`` goes over to it. Whether it takes commands by
  /// the deadline.
  public func openStore(_ make: @Sendable (EventLoop) -> any Store, until deadline: Instant) async -> Bool {
    dropOpenedStore()
    let store = make(loop)
    nextStore = store
    run(store)
    repeat {
      await loop.sleep(until: loop.now.advanced(byMilliseconds: 5))
    } while !store.health.isUp && loop.now < deadline
    return store.health.isUp
  }

  /// Closes what ``openStore(_:until:)`` opened: the worker stays with the store that it has.
  public func dropOpenedStore() {
    nextStore?.stop()
    nextStore = nil
  }

  /// Serves another configuration, whose listeners' sockets are in its order. Requests that have begun end under the one that they began
  /// with; connections go over with their next request. A listener that is not there any more is accepted from for the last time, and
  /// its connections end with their next answer.
  public func serve(_ site: Site, services: WorkerServices, sockets: [ListeningSocket]) {
    guard let serving, let current = store, !serving.isDraining else { return }
    let before = serving.context
    let context = WorkerContext(
      loop: loop, number: number, site: site, services: services, store: nextStore ?? current, registry: metrics, previous: before)
    if let next = nextStore {
      formerStores.append(FormerStore(store: current, user: before))
      current.onHealthChange = nil
      watch(next, context)
      store = next
      nextStore = nil
    }
    for intake in intakes where !sockets.contains(where: { $0 === intake.acceptor.listener }) { takeLast(of: intake, before) }
    serving.context = context
    context.accessLog.follow(services.accessLog)
    takeIn(sockets, context)
    for upstream in before.upstreams where !context.upstreams.contains(where: { $0 === upstream }) { upstream.retire() }
  }

  /// Closes idle connections of listeners that are gone.
  func closeLeftOver() {
    guard let serving else { return }
    for served in connections.values where served.isLeftOver(in: serving) && served.mayBeClosed { served.socket.close() }
  }

  /// A former store may go once no request, and no idle connection, is under the configuration that had it.
  func stopFormerStores() {
    for former in formerStores where former.user == nil { former.store.stop() }
    formerStores.removeAll { $0.user == nil }
  }
}
