import AppAttest
import Bytes
import Cryptography
import Testing

@Suite struct AuthenticatorDataTests {
  static func assertion(_ bytes: [UInt8]) -> Result<AuthenticatorData, Malformed> {
    do throws(Malformed) { return .success(try AuthenticatorData.decode(assertion: bytes.span)) } catch { return .failure(error) }
  }

  static func attestation(_ bytes: [UInt8]) -> Result<AuthenticatorData, Malformed> {
    do throws(Malformed) { return .success(try AuthenticatorData.decode(attestation: bytes.span)) } catch { return .failure(error) }
  }

  static let head = AuthenticatorDataDraft(rpIDHash: Array(1...32), flags: 0x40, counter: 0x0102_0304)

  @Test(arguments: [0x00, 0x01, 0x40, 0x80, 0xC0, 0xFF] as [UInt8])
  func anAssertionsMapIsOptionalWhateverTheFlags(flags: UInt8) throws {
    var draft = Self.head
    draft.flags = flags
    let bare = try Self.assertion(draft.assertion).get()
    #expect(bare.rpIDHash.bytes == Array(1...32))
    #expect(bare.flags == flags)
    #expect(bare.counter == 0x0102_0304)
    #expect(bare.credential == nil)
    #expect(bare.extensions.category == nil)
    draft.tail = AuthenticatorDataDraft.extensions(category: 0x0403_0201, version: "1.2")
    let mapped = try Self.assertion(draft.assertion).get()
    #expect(mapped.counter == 0x0102_0304)
    #expect(mapped.extensions.category == 0x0403_0201)
    #expect(mapped.extensions.bundleVersion == "1.2")
  }

  @Test func theCategoryIsLittleEndian() throws {
    var draft = Self.head
    draft.tail = Item.map([(.text("apple_validation_category_01"), .bytes([3, 0, 0, 0]))]).encoded
    #expect(try Self.assertion(draft.assertion).get().extensions.category == 3)
  }

  @Test(arguments: [
    Item.map([(.text("apple_validation_category_01"), .number(3))]), .map([(.text("apple_validation_category_01"), .bytes([3]))]),
    .map([(.text("apple_validation_category_01"), .bytes([3, 0, 0, 0, 0]))]), .map([(.text("apple_validation_category_01"), .text("3"))]),
    .map([(.text("apple_bundle_version_01"), .bytes([0x31]))]), .map([(.text("apple_bundle_version_01"), .number(1))]),
    .map([(.text("apple_bundle_version_01"), .text(String(repeating: "1", count: 256)))]),
    .map([(.text("apple_bundle_version_01"), .text("1")), (.text("apple_bundle_version_01"), .text("1"))]),
    .array([]), .number(0), .raw([0xA0, 0x00]), .raw([0xA0, 0xA0]), .raw([0xA1]), .raw([0xBF, 0xFF]), .raw([0x00]),
  ])
  func anExtensionMapOfAnotherFormIsMalformed(tail: Item) {
    var draft = Self.head
    draft.tail = tail.encoded
    #expect((try? Self.assertion(draft.assertion).get()) == nil)
  }

  @Test(arguments: 0..<37)
  func lessThanTheHeadIsMalformed(count: Int) {
    #expect((try? Self.assertion(Array(Self.head.head.prefix(count))).get()) == nil)
    #expect((try? Self.attestation(Array(Self.head.head.prefix(count))).get()) == nil)
  }

  static let attested: AuthenticatorDataDraft = {
    var draft = head
    draft.credentialIdentifier = Array(101...132)
    draft.coseKey = AuthenticatorDataDraft.coseKey([4] + Array(1...64))
    return draft
  }()

  @Test func anAttestationNamesItsKey() throws {
    let credential = try #require(try Self.attestation(Self.attested.attestation).get().credential)
    #expect(credential.aaguid == Array("appattestdevelop".utf8))
    #expect(credential.identifier.digest.bytes == Array(101...132))
    #expect(credential.publicKey == [4] + Array(1...64))
  }

  @Test func everyShorterAttestationIsMalformed() {
    let whole = Self.attested.attestation
    for count in 0..<whole.count { #expect((try? Self.attestation(Array(whole.prefix(count))).get()) == nil, "\(count) bytes") }
  }

  @Test(arguments: [0, 1, 31, 33, 64, 256, 8192])
  func aCredentialIdentifierOfAnotherLengthIsMalformed(count: Int) {
    var draft = Self.attested
    draft.credentialIdentifier = [UInt8](repeating: 1, count: count)
    #expect((try? Self.attestation(draft.attestation).get()) == nil)
  }

  @Test(arguments: [0, 1, 2, 3, 4])
  func aCOSEKeyWithoutOneOfItsMembersOrWithAnotherValueIsMalformed(index: Int) {
    var draft = Self.attested
    let member = draft.coseKey.remove(at: index)
    #expect((try? Self.attestation(draft.attestation).get()) == nil)
    for value in [
      Item.number(9), .bytes([UInt8](repeating: 1, count: 31)), .bytes([UInt8](repeating: 1, count: 33)), .text("x"), .raw([0xF6]),
    ] {
      draft.coseKey.insert((member.0, value), at: index)
      #expect((try? Self.attestation(draft.attestation).get()) == nil)
      draft.coseKey.remove(at: index)
    }
    draft.coseKey.insert(member, at: index)
    draft.coseKey.append((.number(2), .bytes([1])))
    #expect((try? Self.attestation(draft.attestation).get()) == nil)
  }
}
