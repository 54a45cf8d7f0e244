import AppAttest
import Cryptography
import FoundationEssentials

/// What a simulated device remembers between two commands, in one file of its state folder: `device.json`, mode 0600.
public struct DeviceState: Codable, Sendable, Equatable {
  private var appIDPrefix: String
  private var bundleIdentifier: String
  private var privateKey: String
  private var counter: UInt32
  private var category: UInt32?
  private var bundleVersion: String?

  private static let file = "device.json"

  /// What `device` knows.
  public init(_ device: SimulatedDevice) {
    appIDPrefix = device.app.prefix
    bundleIdentifier = device.app.bundleIdentifier
    privateKey = device.privateKeyPEM
    counter = device.counter
    if case .iOS27(let category, let bundleVersion) = device.system {
      self.category = category
      self.bundleVersion = bundleVersion
    }
  }

  /// Puts the state into `directory`, which is made if need be, in place of what was there.
  public func save(in directory: String) throws(DeviceFailure) {
    let folder = Folder(path: directory)
    try folder.make()
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
    guard let data = try? encoder.encode(self) else { throw .damaged(path: folder.path(of: Self.file)) }
    try folder.writePrivately([UInt8](data), to: Self.file)
  }

  /// The device whose state is in `directory`.
  public static func load(from directory: String) throws(DeviceFailure) -> SimulatedDevice {
    let folder = Folder(path: directory)
    let bytes = try folder.read(file, madeBy: "enroll")
    guard let state = try? JSONDecoder().decode(DeviceState.self, from: Data(bytes)), let device = state.device else {
      throw .damaged(path: folder.path(of: file))
    }
    return device
  }

  private var device: SimulatedDevice? {
    let text = Array(privateKey.utf8)
    guard let key = P256PrivateKey(pem: text.span) else { return nil }
    let app = AppIdentity(prefix: appIDPrefix, bundleIdentifier: bundleIdentifier)
    var system = SimulatedSystem.iOS26
    if let category, let bundleVersion { system = .iOS27(category: category, bundleVersion: bundleVersion) }
    return SimulatedDevice(app: app, system: system, counter: counter, key: key)
  }
}
