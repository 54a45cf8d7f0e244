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
    guard !isStopping else { return }
    guard getpid() != 1 else {
      return diagnostics.note(
        .error, "process 1 of a container cannot hand over, for its end is everybody's: start another container; this one goes on serving")
    }
    diagnostics.note(.notice, "starting \(program) to hand over to it")
    let successor: Successor
    do throws(SuccessorFailure) {
      successor = try Successor([program] + CommandLine.arguments.dropFirst(), environment: environment, sockets: namedSockets)
    } catch {
      return diagnostics.note(.error, "no other process could be started (\(KernelError.text(error.errno))); this one goes on serving")
    }
    self.successor = successor
    let waiting = waiting
    let isReady = await waiting.run { successor.waitUntilReady(milliseconds: Self.patienceMilliseconds) } ?? false
    self.successor = nil
    guard isReady else {
      return diagnostics.note(
        .error, "process \(successor.process) did not come to serve, see its own lines above; this one goes on serving")
    }
    manager.handedOver(to: successor.process)
    diagnostics.note(.notice, "process \(successor.process) has taken over")
    for (_, socket) in namedSockets { socket.handOver() }
    await admin?.listener.stopAccepting()
    // Nobody has to be told to send requests elsewhere.
    await end(delayMilliseconds: 0)
  }

  /// Every listening socket with its place as proxy.yaml writes it.
  var namedSockets: [(bind: String, socket: ListeningSocket)] {
    var named = zip(configuration.listeners, sockets).map { (bind: $0.bind.description, socket: $1) }
    if let admin, let bind = configuration.admin { named.append((bind.description, admin.socket)) }
    return named
  }
}
