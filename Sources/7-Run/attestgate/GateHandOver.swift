import Administration
import CLinux
import Configuration
import EventLoop
import Exchange
import Telemetry

/// Handing over to another process of the same program: a new binary, or the same one with what only a start can change.
extension RunningGate {
  /// How long the other process may take to serve.
  private static let patienceMilliseconds = 60_000

  /// Starts the program's file with the listening sockets, waits until it serves, and drains. If it does not come to that, everything
  /// stays as it is.
  func handOver() async {
    if let heir { return heir.send(SIGUSR2) }
    guard !isStopping else { return }
    guard getpid() != 1 else {
      return diagnostics.note(
        .error, "process 1 of a container cannot hand over, for its end is everybody's: start another container; this one goes on serving")
    }
    diagnostics.note(.notice, "starting \(program) to hand over to it")
    do throws(ResourceFailure) {
      try ProcessResources.demand(threads: 1, descriptors: 8)
    } catch {
      return diagnostics.note(.error, "no other process can be started: \(error.description); this one goes on serving")
    }
    // While there is what was demanded: it cannot be made without.
    let waiting = waiting
    let successor: Successor
    do throws(SuccessorFailure) {
      successor = try Successor([program] + CommandLine.arguments.dropFirst(), environment: environment, sockets: namedSockets)
    } catch {
      return diagnostics.note(.error, "\(program) cannot be started (\(KernelError.text(error.errno))); this process goes on serving")
    }
    self.successor = successor
    let isReady = await waiting.run { successor.waitUntilReady(milliseconds: Self.patienceMilliseconds) } ?? false
    if isReady && isStopping {
      // Both were asked to end while it started: it drains as this one does.
      self.successor = nil
      return
    }
    guard isReady else {
      let ending = await waiting.run { successor.endUnready() } ?? ""
      self.successor = nil
      return diagnostics.note(.error, "process \(successor.process) did not come to serve: \(ending); this one goes on serving")
    }
    self.successor = nil
    heir = successor
    manager.handedOver(to: successor.process)
    diagnostics.note(.notice, "process \(successor.process) has taken over")
    for (_, socket) in namedSockets { socket.handOver() }
    // It does not say that it drains: the service is as ready as before, and whoever is still in the queue here asks about that.
    await admin?.listener.stopAccepting()
    admin = nil
    // Nobody has to be told to send requests elsewhere. Signals that come meanwhile are waited for here, and passed on.
    Task { await end(delayMilliseconds: 0) }
  }

  /// Every listening socket with its place as proxy.yaml writes it.
  var namedSockets: [(bind: String, socket: ListeningSocket)] {
    var named = zip(configuration.listeners, sockets).map { (bind: $0.bind.description, socket: $1) }
    if let admin, let bind = configuration.admin { named.append((bind.description, admin.socket)) }
    return named
  }
}
