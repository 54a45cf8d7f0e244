/// A request whose head passed every check that needs no body. It is good for one question: ``Gate/admit(_:body:)``.
public struct ExaminedRequest: ~Copyable {
  let policy: GatePolicy

  init(policy: GatePolicy) { self.policy = policy }
}
