/// What a simulated device remembers between two commands.
public struct DeviceState: Sendable {
  /// The highest counter it has signed with.
  public var counter: UInt32 = 0

  /// A device that has signed nothing.
  public init() {}
}
