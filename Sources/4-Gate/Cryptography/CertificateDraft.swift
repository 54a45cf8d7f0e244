import COpenSSL

/// A certificate on its way to be signed.
@safe
struct CertificateDraft: ~Copyable {
  private let x509: Owned
  private let template: CertificateTemplate

  /// Valid as long as this value lives.
  var pointer: OpaquePointer { unsafe x509.pointer }

  /// Everything but the issuer: version 3, a random serial number of 16 bytes, name, dates and key.
  init(_ template: CertificateTemplate, subjectKey: OpaquePointer) throws(CertificateFailure) {
    let x509 = unsafe Owned(allocated: X509_new(), X509_free)
    guard unsafe X509_set_version(x509.pointer, 2) == 1, unsafe Self.setSerialNumber(x509.pointer),
      unsafe Self.setDates(x509.pointer, template), unsafe Self.setSubject(x509.pointer, template.subject),
      unsafe X509_set_pubkey(x509.pointer, subjectKey) == 1
    else { throw .notIssuable }
    self.template = template
    self.x509 = x509
  }

  private static func setSerialNumber(_ x509: OpaquePointer) -> Bool {
    var bytes = SecureRandom.bytes(16)
    // Positive and of full length (RFC 5280 section 4.1.2.2).
    bytes[0] = bytes[0] & 0x7F | 0x40
    let number = unsafe Owned(allocated: bytes.withUnsafeBufferPointer { unsafe BN_bin2bn($0.baseAddress, 16, nil) }, BN_free)
    return unsafe BN_to_ASN1_INTEGER(number.pointer, X509_get_serialNumber(x509)) != nil
  }

  private static func setDates(_ x509: OpaquePointer, _ template: CertificateTemplate) -> Bool {
    unsafe ASN1_TIME_set(X509_getm_notBefore(x509), time_t(template.notBefore)) != nil
      && ASN1_TIME_set(X509_getm_notAfter(x509), time_t(template.notAfter)) != nil
  }

  private static func setSubject(_ x509: OpaquePointer, _ parts: [CertificateTemplate.NamePart]) -> Bool {
    let name = unsafe Owned(allocated: X509_NAME_new(), X509_NAME_free)
    for part in parts {
      let text = Array(part.text.utf8)
      let added = unsafe text.withUnsafeBufferPointer {
        unsafe X509_NAME_add_entry_by_txt(name.pointer, part.attribute, MBSTRING_UTF8, $0.baseAddress, Int32($0.count), -1, 0)
      }
      guard added == 1 else { return false }
    }
    return unsafe X509_set_subject_name(x509, name.pointer) == 1
  }

  /// Names `issuer`, adds the extensions and signs. The issuer's key identifier extends to this certificate (RFC 5280 section 4.2.1.1).
  func signed(issuer: OpaquePointer, key: OpaquePointer, hash: OpaquePointer?) throws(CertificateFailure) -> Certificate {
    guard unsafe X509_set_issuer_name(pointer, X509_get_subject_name(issuer)) == 1, unsafe addExtensions(issuer: issuer),
      unsafe X509_sign(pointer, key, hash) > 0
    else { throw .notIssuable }
    let der = unsafe ParsedCertificate.encoding(of: pointer)
    return try Certificate(der: der.span)
  }

  private func addExtensions(issuer: OpaquePointer) -> Bool {
    var constraints = "critical,CA:FALSE"
    if case .authority(let pathLengthMax) = template.constraints {
      constraints = "critical,CA:TRUE" + (pathLengthMax.map { ",pathlen:\($0)" } ?? "")
    }
    guard unsafe addStandard(NID_basic_constraints, constraints, issuer) else { return false }
    if !template.keyUsage.isEmpty {
      let usage = template.keyUsage.map(\.rawValue).joined(separator: ",")
      guard unsafe addStandard(NID_key_usage, "critical," + usage, issuer) else { return false }
    }
    guard unsafe addStandard(NID_subject_key_identifier, "hash", issuer), unsafe addStandard(NID_authority_key_identifier, "keyid", issuer)
    else { return false }
    for entry in template.extensions where !add(entry) { return false }
    return true
  }

  /// An extension that libcrypto encodes, from its configuration language.
  private func addStandard(_ identifier: Int32, _ text: String, _ issuer: OpaquePointer) -> Bool {
    var context = unsafe X509V3_CTX()
    unsafe X509V3_set_ctx(&context, issuer, pointer, nil, nil, 0)
    guard let made = unsafe Owned(X509V3_EXT_conf_nid(nil, &context, identifier, text), X509_EXTENSION_free) else { return false }
    return unsafe X509_add_ext(pointer, made.pointer, -1) == 1
  }

  private func add(_ entry: CertificateTemplate.Extension) -> Bool {
    guard let object = unsafe Owned(OBJ_txt2obj(entry.oid, 1), ASN1_OBJECT_free) else { return false }
    let content = unsafe ASN1_OCTET_STRING_new()
    defer { unsafe ASN1_OCTET_STRING_free(content) }
    let filled = unsafe entry.value.withUnsafeBufferPointer { unsafe ASN1_OCTET_STRING_set(content, $0.baseAddress, Int32($0.count)) }
    let critical: Int32 = entry.isCritical ? 1 : 0
    guard filled == 1, let made = unsafe Owned(X509_EXTENSION_create_by_OBJ(nil, object.pointer, critical, content), X509_EXTENSION_free)
    else { return false }
    return unsafe X509_add_ext(pointer, made.pointer, -1) == 1
  }
}
