import Fixtures
import Foundation

/// A problem document (RFC 9457), as a client reads it.
struct Problem: Decodable {
  let type: String
  let title: String
  let status: Int
  let detail: String
  let code: String
  let recovery: String
  let request_id: String
}

/// The problem document in an answer; whatever is not as wire.md says is a failure.
func problem(in answer: RawMessage) throws -> Problem {
  guard answer.value("Content-Type") == "application/problem+json", answer.value("Cache-Control") == "no-store" else {
    throw FixtureFailure("no problem document:\n\(answer)")
  }
  let problem = try JSONDecoder().decode(Problem.self, from: Data(answer.body))
  let recoveries = [
    "retry_later", "fetch_challenge", "sign_again", "enroll_again", "use_key", "check_result", "fix_request", "give_up",
  ]
  guard problem.type == "urn:attestgate:problem:\(problem.code)", problem.status == answer.status, recoveries.contains(problem.recovery),
    !problem.title.isEmpty, !problem.request_id.isEmpty
  else { throw FixtureFailure("a problem document that is none of ours:\n\(answer)") }
  return problem
}
