/// What the gate asks of the store, as metrics and logs name it.
public enum StoreCommand: String, Sendable, CaseIterable {
  /// Finding an enrolled key.
  case lookUp = "look_up"
  /// What is known of a key before its attestation is verified.
  case enrolmentState = "enrolment_state"
  /// Whether a challenge was used.
  case isUsed = "is_used"
  /// The atomic step *enroll*.
  case enroll
  /// The atomic step *commit*.
  case commit
  /// Reading the sealing secrets anew.
  case secrets
  /// Whatever `attestgate keys` asks.
  case administration
}
