import COpenSSL

/// Whom a certificate is for, in words.
enum CertificateNames {
  /// The DNS names that it is good for, the first `limit` of them, in lower case, wildcards as they are; the subject's common name where
  /// there are none.
  static func served(by certificate: OpaquePointer, atMost limit: Int = .max) -> [String] {
    var names: [String] = []
    var text = [CChar](repeating: 0, count: 256)
    let all = unsafe cossl_names(certificate)
    defer { unsafe cossl_names_free(all) }
    for index in 0..<(unsafe cossl_names_count(all)) where names.count < limit {
      let length = unsafe text.withUnsafeMutableBufferPointer { unsafe cossl_dns_name(all, index, $0.baseAddress, $0.count) }
      if length >= 0 { names.append(lowercased(text.prefix(Int(length)))) }
    }
    guard names.isEmpty else { return names }
    let length = unsafe text.withUnsafeMutableBufferPointer {
      unsafe X509_NAME_get_text_by_NID(X509_get_subject_name(certificate), NID_commonName, $0.baseAddress, Int32($0.count))
    }
    return length > 0 ? [lowercased(text.prefix(Int(length)))] : []
  }

  private static let textBytesMax = 1_024

  /// A distinguished name, RFC 2253; nil where there is none, or one of more than 1,024 bytes: a part of it could be another's whole name.
  static func text(of name: OpaquePointer?) -> String? {
    guard let output = unsafe BIO_new(BIO_s_mem()) else { return nil }
    defer { unsafe _ = BIO_free(output) }
    guard unsafe X509_NAME_print_ex(output, name, 0, UInt(COSSL_NAME_RFC2253)) >= 0 else { return nil }
    var text = [UInt8](repeating: 0, count: textBytesMax + 1)
    let count = unsafe text.withUnsafeMutableBufferPointer { unsafe BIO_read(output, $0.baseAddress, Int32($0.count)) }
    return 1...textBytesMax ~= Int(count) ? String(decoding: text.prefix(Int(count)), as: UTF8.self) : nil
  }

  private static func lowercased(_ text: ArraySlice<CChar>) -> String {
    String(decoding: text.map { UInt8(bitPattern: $0) }, as: UTF8.self).lowercased()
  }
}
