import CLinux
import Configuration
import EventLoop
import FoundationEssentials

/// `attestgate serve`: runs the gate until SIGTERM.
struct ServeCommand {
  static let usage = CommandUsage(
    name: "serve",
    summary:
      "Runs the gate. SIGTERM drains it and stops; SIGHUP reads the configuration again; SIGUSR1 opens the access log's file anew; "
      + "SIGUSR2 starts the program's file anew and hands over to it.",
    options: [.init("--config", value: "FILE", "the configuration, proxy.yaml unless said otherwise")])

  static func run(_ words: [String]) -> Int32 {
    usage.run(words) { arguments throws(UsageFailure) in
      // Before any other thread exists, so that every one of them leaves the signals to this one, and shares one heap.
      ProcessSignals.block()
      MemoryLimit.prepareAllocator()
      DescriptorLimit.raise()
      CrashReport.install(program: "attestgate \(Version.number)")
      let file = arguments.value("--config") ?? "proxy.yaml"
      let environment = ProcessInfo.processInfo.environment
      do {
        var inherited = InheritedSockets { environment[$0] }
        let configuration = try ConfigurationLoader.load(file: file)
        return serve(try RunningGate(configuration, inherited: &inherited, environment: environment), closing: inherited.takeRest())
      } catch let failure as ConfigurationFailure {
        for problem in failure.problems { StandardError.write("\(problem)\n") }
        return ExitCode.failed
      } catch let failure as StartFailure {
        StandardError.write("attestgate serve: \(failure.message)\n")
        return ExitCode.failed
      } catch {
        StandardError.write("attestgate serve: \(error)\n")
        return ExitCode.failed
      }
    }
  }

  /// Acts on signals, on the main thread, for as long as the process lives. What takes longer is done one after the other elsewhere;
  /// the end waits for nobody.
  private static func serve(_ gate: RunningGate, closing unused: UnusedSockets) -> Int32 {
    var last = Task { await gate.start(closing: unused) }
    var isStopping = false
    while true {
      let before = last
      switch ProcessSignals.wait() {
      case .reopenLogs: Task { await gate.reopenLogs() }
      case .hangUp:
        last = Task {
          await before.value
          await gate.reload()
        }
      case .upgrade:
        last = Task {
          await before.value
          await gate.handOver()
        }
      case .terminate:
        if isStopping { return ExitCode.failed }
        isStopping = true
        Task { await gate.stop() }
      }
    }
  }
}

/// Why the gate could not start, or not go over to another configuration, with the mend.
struct StartFailure: Error {
  var message: String
}
