import Fixtures
import Glibc

/// Somebody who sends one request after the other on one connection, each with a token of its own that the upstream's answer must name,
/// and who sends the same bytes again while he does not know what became of them: as URLSession and hasty apps do.
///
/// Used by one thread at a time, which is why it may call itself Sendable.
final class LoadClient: @unchecked Sendable {
  /// What he asks for.
  enum Errand: Hashable, Sendable {
    /// An open route.
    case open
    /// A gated one.
    case signed(AppClient.Style)
    /// A gated one, with a body that does not fit into the gate's memory.
    case large
    /// A gated one whose upstream answers too late.
    case slow
  }

  /// Who he is, in reports and in tokens.
  struct Name: Hashable, Sendable, CustomStringConvertible {
    let errand: Errand
    let number: Int
    var description: String {
      switch errand {
      case .signed(let style): "\(style.rawValue)\(number)"
      default: "\(errand)\(number)"
      }
    }
  }

  /// So that a load leaves the machine time for everything else.
  static let pauseMicroseconds: UInt32 = 10_000
  static let resendMicroseconds: UInt32 = 30_000
  static let largeBytes = 200_000

  let name: Name
  private let app: AppClient?
  private let port: UInt16
  private let account: LoadAccount
  private var connection: RawConnection?
  private var requestCount = 0

  init(_ name: Name, app: AppClient?, port: UInt16, account: LoadAccount) {
    self.name = name
    self.app = app
    self.port = port
    self.account = account
  }

  /// How often his key was enrolled.
  var enrolmentCount: Int { app?.enrolmentCount ?? 0 }

  func run(while goesOn: () -> Bool) {
    while goesOn() {
      requestCount += 1
      let token = "\(name)-\(requestCount)"
      if let app { buy(token, app, while: goesOn) } else { ask("GET /open/\(token) HTTP/1.1\r\nHost: api.example.com\r\n\r\n", token) }
      usleep(Self.pauseMicroseconds)
    }
  }

  private func buy(_ token: String, _ app: AppClient, while goesOn: () -> Bool) {
    guard let request = prepare(token, app) else { return }
    while true {
      let answer = ask(request.text, token)
      guard case .refused(let problem) = answer, ![502, 503, 504].contains(problem.status) else {
        if case .done = answer { return account.addAccepted(request) }
        guard goesOn() else { return }
        usleep(Self.resendMicroseconds)
        continue
      }
      _ = app.follow(problem)
      return
    }
  }

  /// A request that was not sent yet; nil when it could not be made now.
  private func prepare(_ token: String, _ app: AppClient) -> SignedRequest? {
    if !app.isEnrolled {
      let start = monotonicMilliseconds()
      do {
        try enrol(app)
      } catch {
        let label = (error as? AppClient.Refused).map { "\($0.problem.status) \($0.problem.code)" } ?? LoadAccount.Outcome.cut
        add(label, token, since: start)
        usleep(Self.resendMicroseconds)
        return nil
      }
    }
    var challenge = "none"
    if app.style != .bodyOnly {
      guard case .done(let text) = ask("GET /assert/challenge HTTP/1.1\r\nHost: api.example.com\r\n\r\n", nil) else { return nil }
      challenge = text
    }
    let body = name.errand == .large ? "\(token)\n" + String(repeating: "x", count: Self.largeBytes) : token
    do {
      return try app.sign("POST", name.errand == .slow ? "/slow/a" : nil, body: body, challenge: challenge)
    } catch {
      account.addWrong("\(token) could not be signed: \(error)")
      return nil
    }
  }

  /// Enrols as an app does. While the workers come back to another Redis one after the other, a challenge of one is none to the next;
  /// what the gate says then is `enroll_again`, and that is done for as long as coming back may take.
  private func enrol(_ app: AppClient) throws {
    let end = monotonicMilliseconds() + FaultLoad.recoveryMilliseconds
    while true {
      do {
        return try app.enrol()
      } catch let refused as AppClient.Refused where refused.problem.recovery == "enroll_again" && monotonicMilliseconds() < end {
        usleep(Self.resendMicroseconds)
      }
    }
  }

  private enum Answer {
    case done(String)
    case refused(Problem)
    case cut
  }

  /// Sends it and says what came; `token` is nil where the gate answers by itself.
  @discardableResult
  private func ask(_ request: String, _ token: String?) -> Answer {
    let start = monotonicMilliseconds()
    do {
      let connection = try self.connection ?? RawConnection(port: port)
      self.connection = connection
      let message = try connection.exchange(request)
      if message.value("Connection") == "close" { self.connection = nil }
      if message.status == 200 {
        if let token, message.text != FaultStage.echo(of: token) { account.addWrong("\(token) was answered:\n\(message)") }
        add(LoadAccount.Outcome.done, token ?? "", since: start)
        return .done(message.text)
      }
      let problem = try problem(in: message)
      if message.status == 503, message.value("Retry-After") == nil { account.addWrong("no Retry-After:\n\(message)") }
      add("\(problem.status) \(problem.code)", token ?? "", since: start)
      return .refused(problem)
    } catch {
      connection = nil
      let isCut = error is ConnectionReset || (error as? FixtureFailure)?.description.hasPrefix("nothing came") == false
      if !isCut { account.addWrong("\(token ?? "a challenge"): \(error)") }
      add(LoadAccount.Outcome.cut, token ?? "", since: start)
      return .cut
    }
  }

  private func add(_ label: String, _ token: String, since start: Int) {
    account.add(.init(label: label, client: name, token: token, startedAt: start, endedAt: monotonicMilliseconds()))
  }
}
