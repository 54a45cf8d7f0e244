import AppAttest
import Cryptography
import Fixtures
import Foundation
import Testing

@testable import SimulatedDevice

@Suite struct DeviceFilesTests {
  static let now = SimulatedDeviceTests.now

  func mode(_ path: String) throws -> Int {
    try #require(try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int)
  }

  @Test func anAuthoritySurvivesItsFiles() throws {
    let folder = try TemporaryFolder()
    let directory = folder.file("new/authority")
    let made = try SimulatedAuthority(makingIn: directory, at: Self.now)
    let loaded = try SimulatedAuthority(loadingFrom: directory)
    #expect(loaded.root == made.root)
    #expect(try mode(directory + "/intermediate-key.pem") == 0o600)
    #expect(
      Set(try FileManager.default.contentsOfDirectory(atPath: directory)) == ["root.pem", "intermediate.pem", "intermediate-key.pem"])
    #expect(SimulatedAuthority.rootPath(in: directory) == directory + "/root.pem")
    let device = SimulatedDevice(app: SimulatedDeviceTests.app)
    let object = try attestationObject(try device.attest(challenge: [1], authority: loaded, at: Self.now))
    let chain = CertificateChain(
      leaf: try certificate(object.certificates[0]), intermediates: [try certificate(object.certificates[1])])
    #expect(chain.verify(anchors: [made.root], at: Self.now) == .trusted(anchor: made.root.digest))
  }

  @Test(arguments: ["root.pem", "intermediate.pem", "intermediate-key.pem"])
  func anAuthorityIsNotOverwritten(name: String) throws {
    let folder = try TemporaryFolder()
    let path = try folder.write("precious", to: name)
    #expect(throws: DeviceFailure.exists(path: path)) { try SimulatedAuthority(makingIn: folder.path, at: Self.now) }
    #expect(folder.read(name) == "precious")
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == [name])
  }

  @Test(arguments: ["root.pem", "intermediate.pem", "intermediate-key.pem"])
  func aMissingOrDamagedFileIsNamed(name: String) throws {
    let folder = try TemporaryFolder()
    _ = try SimulatedAuthority(makingIn: folder.path, at: Self.now)
    try folder.write("-----BEGIN CERTIFICATE-----\nnone\n", to: name)
    #expect(throws: DeviceFailure.damaged(path: folder.file(name))) { try SimulatedAuthority(loadingFrom: folder.path) }
    try FileManager.default.removeItem(atPath: folder.file(name))
    #expect(throws: DeviceFailure.file(path: folder.file(name), reason: "does not exist; attestgate device authority makes it")) {
      try SimulatedAuthority(loadingFrom: folder.path)
    }
  }

  @Test func aKeyOfAnotherAuthorityIsRefused() throws {
    let folder = try TemporaryFolder()
    _ = try SimulatedAuthority(makingIn: folder.path, at: Self.now)
    try folder.write(P384PrivateKey.generate().pem, to: "intermediate-key.pem")
    #expect(throws: DeviceFailure.certificate(.wrongKey)) { try SimulatedAuthority(loadingFrom: folder.path) }
  }

  @Test(arguments: SimulatedDeviceTests.systems)
  func aDeviceSurvivesItsState(system: SimulatedSystem) throws {
    let folder = try TemporaryFolder()
    let directory = folder.file("state")
    let device = SimulatedDevice(app: SimulatedDeviceTests.app, system: system)
    try DeviceState(device).save(in: directory)
    _ = device.assert(clientData: [])
    try DeviceState(device).save(in: directory)
    let loaded = try DeviceState.load(from: directory)
    #expect(loaded.counter == 1)
    #expect(loaded.keyIdentifier == device.keyIdentifier)
    #expect(loaded.app == device.app)
    #expect(loaded.system == system)
    #expect(try mode(directory + "/device.json") == 0o600)
    // Nothing half written stays behind.
    #expect(try FileManager.default.contentsOfDirectory(atPath: directory) == ["device.json"])
  }

  @Test(arguments: ["", "{}", "{\"counter\": -1}", "not JSON"])
  func aDamagedStateIsRefused(text: String) throws {
    let folder = try TemporaryFolder()
    let path = try folder.write(text, to: "device.json")
    #expect(throws: DeviceFailure.damaged(path: path)) { try DeviceState.load(from: folder.path) }
  }

  @Test func aStateThatCannotBeWrittenIsAnError() throws {
    let folder = try TemporaryFolder()
    let path = try folder.write("a file", to: "state")
    #expect(throws: DeviceFailure.file(path: path, reason: "cannot be made")) {
      try DeviceState(SimulatedDevice(app: SimulatedDeviceTests.app)).save(in: path)
    }
  }
}
