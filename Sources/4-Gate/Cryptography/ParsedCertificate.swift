import Bytes
import COpenSSL

/// libcrypto's own view of a certificate, for the time of one function. Whoever calls drains the error queue.
@safe
struct ParsedCertificate: ~Copyable {
  private let x509: Owned

  /// Valid as long as this value lives.
  var pointer: OpaquePointer { unsafe x509.pointer }

  /// Reads a certificate again.
  init(_ certificate: Certificate) throws(CertificateFailure) {
    let der = certificate.der
    try self.init(der: der.span)
  }

  /// Reads exactly `der`: all of it, and in the one encoding that libcrypto itself would write.
  init(der: Span<UInt8>) throws(CertificateFailure) {
    let parsed: OpaquePointer? = unsafe der.withUnsafeBufferPointer { bytes in
      var place = bytes.baseAddress
      let pointer = unsafe d2i_X509(nil, &place, bytes.count)
      if unsafe pointer != nil && place == bytes.baseAddress.map({ unsafe $0 + bytes.count }) { return unsafe pointer }
      unsafe X509_free(pointer)
      return nil
    }
    guard let x509 = unsafe Owned(parsed, X509_free) else { throw .malformed }
    let encoded = unsafe Self.encoding(of: x509.pointer)
    guard constantTimeEqual(encoded.span, der) else { throw .malformed }
    self.x509 = x509
  }

  /// The DER of a certificate.
  static func encoding(of certificate: OpaquePointer) -> [UInt8] {
    var bytes: UnsafeMutablePointer<UInt8>?
    let count = unsafe i2d_X509(certificate, &bytes)
    defer { unsafe cossl_free(bytes) }
    guard count > 0, let bytes = unsafe bytes else { return [] }
    return unsafe Array(UnsafeBufferPointer(start: bytes, count: Int(count)))
  }

  /// SHA-256 of a certificate's DER.
  static func fingerprint(_ certificate: OpaquePointer) -> SHA256Digest {
    let bytes = unsafe encoding(of: certificate)
    return SHA256.digest(bytes.span)
  }

  var notBefore: Int {
    get throws(CertificateFailure) { try unsafe Self.unixSeconds(X509_get0_notBefore(pointer)) }
  }

  var notAfter: Int {
    get throws(CertificateFailure) { try unsafe Self.unixSeconds(X509_get0_notAfter(pointer)) }
  }

  /// Seconds since 1970, by libcrypto's own calendar.
  private static func unixSeconds(_ time: UnsafePointer<ASN1_TIME>?) throws(CertificateFailure) -> Int {
    var days: Int32 = 0
    var seconds: Int32 = 0
    let epoch = unsafe ASN1_TIME_set(nil, 0)
    defer { unsafe ASN1_TIME_free(epoch) }
    guard let time = unsafe time, unsafe ASN1_TIME_check(time) == 1, unsafe ASN1_TIME_diff(&days, &seconds, epoch, time) == 1 else {
      throw .malformedValidity
    }
    return Int(days) * 86_400 + Int(seconds)
  }

  /// The bits of the subject's key, if they are an uncompressed point of P-256.
  var subjectPublicKeyX963: [UInt8]? {
    guard let key = unsafe X509_get0_pubkey(pointer), unsafe EllipticCurve.p256.holds(key),
      let bits = unsafe X509_get0_pubkey_bitstr(pointer)
    else { return nil }
    let bytes = unsafe Self.content(bits)
    return bytes.count == P256PublicKey.x963ByteCount && bytes[0] == 0x04 ? bytes : nil
  }

  var subject: String { unsafe Self.text(X509_get_subject_name(pointer)) }
  var issuer: String { unsafe Self.text(X509_get_issuer_name(pointer)) }

  var extensions: [String: [UInt8]] {
    get throws(CertificateFailure) {
      var values = [String: [UInt8]]()
      for index in unsafe 0..<X509_get_ext_count(pointer) {
        let entry = unsafe X509_get_ext(pointer, index)
        guard let oid = unsafe Self.dotted(X509_EXTENSION_get_object(entry)), let data = unsafe X509_EXTENSION_get_data(entry) else {
          throw .malformed
        }
        guard values.updateValue(unsafe Self.content(data), forKey: oid) == nil else { throw .repeatedExtension(oid: oid) }
      }
      return values
    }
  }

  private static func content(_ string: UnsafePointer<ASN1_STRING>) -> [UInt8] {
    let count = unsafe Int(ASN1_STRING_length(string))
    guard count > 0, let start = unsafe ASN1_STRING_get0_data(string) else { return [] }
    return unsafe Array(UnsafeBufferPointer(start: start, count: count))
  }

  /// The OID in numbers; nil when it is longer than any real one.
  private static func dotted(_ object: OpaquePointer?) -> String? {
    var text = [CChar](repeating: 0, count: 256)
    let length = unsafe text.withUnsafeMutableBufferPointer { unsafe OBJ_obj2txt($0.baseAddress, Int32($0.count), object, 1) }
    guard length > 0, length < text.count else { return nil }
    return String(decoding: text[..<Int(length)].map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  /// RFC 2253, in which libcrypto escapes every control character.
  private static func text(_ name: OpaquePointer?) -> String {
    let output = unsafe Owned(allocated: BIO_new(BIO_s_mem()), { unsafe _ = BIO_free($0) })
    guard unsafe X509_NAME_print_ex(output.pointer, name, 0, UInt(COSSL_NAME_RFC2253)) >= 0 else { return "" }
    return String(decoding: PEM.drain(output), as: UTF8.self)
  }
}
