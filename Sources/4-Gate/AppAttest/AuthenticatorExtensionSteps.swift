// Steps 10 and 11 of an attestation, 7 and 8 of an assertion: what they say is for policy to judge.
extension AuthenticatorExtensions {
  static func judge<Refusal>(_ category: UInt32?) -> StepRecorder<Refusal>.Outcome<Void> {
    guard let category else { return .notApplicable("not written; devices do from iOS 27 on") }
    return .pass((), "\(category), \(meaning(ofCategory: category))")
  }

  static func judge<Refusal>(_ bundleVersion: String?) -> StepRecorder<Refusal>.Outcome<Void> {
    guard let bundleVersion else { return .notApplicable("not written; devices do from iOS 27 on") }
    return .pass((), bundleVersion)
  }

  /// Apple's names of the launch categories.
  static func meaning(ofCategory category: UInt32) -> String {
    switch category {
    case 0: "invalid"
    case 1: "an executable of the operating system"
    case 2: "TestFlight"
    case 3: "signed for development"
    case 4: "App Store"
    case 5: "enterprise or ad hoc"
    case 6: "Developer ID"
    case 10: "none of the others"
    default: "not one that an app should have"
    }
  }
}
