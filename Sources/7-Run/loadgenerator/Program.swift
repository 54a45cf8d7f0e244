import CLinux
import EventLoop

/// `attestgate-load`: what loads a gate with signed requests, and what measures the parts that such a request is made of.
enum Program {
  private static let help = """
    usage: attestgate-load send URL --authority DIR [options]
           attestgate-load send URL --unsigned [options]
           attestgate-load parts [--json]

    send enrols simulated devices at the gate, signs all requests beforehand, then sends them as fast as the gate takes them. Each
    round needs a challenge a request, so it fetches and signs anew. Exit 1 when an answer had another status than 200.

      --authority DIR       the authority that the gate trusts (attestgate device authority DIR)
      --app PREFIX.BUNDLE   the app that the devices run (ABCDE12345.com.example.shop)
      --keys N              enrolled keys (1000); each is used on one connection only, so that its counter arrives in order
      --connections N       keep-alive connections (32)
      --requests N          requests a round (10000)
      --withheld N          requests a round that are signed and not sent (0): what signing costs the gate can be told apart so
      --body BYTES          POST with a body of so many bytes (0: GET)
      --unsigned            sends requests as they are, for an open route: no keys, no challenges
      --unnamed             leaves the key identifier out, so that the gate recovers it
      --one-key             uses one key a connection, as a direct client does; otherwise the keys of a connection take turns
      --rounds N            rounds (1)
      --step                says "ready" when a round is prepared, and waits for a line on standard input before it sends
      --process PID         adds the CPU time that this process took for a request
      --beside URL          sends the same requests to another proxy in each round: first to the one, in the next round first to the other
      --beside-process PID  as --process, for the other proxy
      --json                one JSON object a round

    parts prints the CPU microseconds of a P-256 verification, of a key recovery, and of the SHA-256 of a request's inputs and of 4 KiB.

    """

  /// Runs the command that the words name; the exit code is 0 for done, 1 for failed, 2 for wrong usage.
  static func run(_ words: [String]) -> Int32 {
    do throws(UsageFailure) {
      switch words.first {
      case "send": return send(try SendOptions(words.dropFirst()))
      case "parts": return parts(try ParsedWords(words.dropFirst(), switches: ["--json"], valued: [], operandCount: 0))
      case "--help", "help": print(help, terminator: "")
      default: throw UsageFailure("send or parts is wanted")
      }
      return 0
    } catch {
      print("attestgate-load: \(error.message)\n\(help)", terminator: "")
      return 2
    }
  }

  private static func send(_ options: SendOptions) -> Int32 {
    let generator = LoadGenerator(options)
    Task(executorPreference: generator.loop) { exit(await generator.run() ? 0 : 1) }
    generator.loop.run()
    return 1
  }

  private static func parts(_ words: ParsedWords) -> Int32 {
    let parts = RequestParts.measured()
    print(words.has("--json") ? parts.json : parts.text)
    return 0
  }
}
