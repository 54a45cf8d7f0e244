import Bytes
import Gate
import Testing

@Suite struct AdmissionTests {
  @Test func anOpenAdmissionNeedsARouteWithoutAGate() {
    for mode in [GatePolicy.Mode.enforce, .monitor] {
      var policy = GatePolicy()
      policy.mode = mode
      let admission = Admission.open(under: SharedPolicy(policy))
      let isAdmitted = admission != nil
      #expect(!isAdmitted)
    }
  }

  @Test func theUpstreamOfAnOpenRouteSeesNoVerdict() throws {
    var policy = GatePolicy()
    policy.mode = .off
    guard let admission = Admission.open(under: SharedPolicy(policy)) else {
      Issue.record("an open route was not admitted")
      return
    }
    var queue = ByteQueue()
    admission.appendFields(to: &queue)
    let isEmpty = queue.isEmpty
    #expect(isEmpty)
    #expect(admission.decision == Decision(mode: .off, outcome: .open))
  }
}
