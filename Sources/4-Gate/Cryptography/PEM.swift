import Bytes
import COpenSSL

/// PEM blocks (RFC 7468), read and written by libcrypto. No passwords: an encrypted key is a block that cannot be read.
enum PEM {
  /// Longest text that is read, in bytes: some hundred certificates.
  static let bytesMax = 1024 * 1024

  /// Every block in order.
  static func blocks(in text: Span<UInt8>) throws(CertificateFailure) -> [(label: String, bytes: [UInt8])] {
    guard text.count <= bytesMax else { throw .tooLarge }
    defer { ErrorQueue.clear() }
    let input = reader(of: text)
    var blocks = [(label: String, bytes: [UInt8])]()
    while let block = unsafe next(input.pointer) { blocks.append(block) }
    guard cossl_pem_ended() == 1 else { throw .malformedPEM }
    return blocks
  }

  /// An input that holds a copy of `text`.
  static func reader(of text: Span<UInt8>) -> Owned {
    let input = unsafe Owned(allocated: BIO_new(BIO_s_mem()), { unsafe _ = BIO_free($0) })
    // An empty text writes nothing, and is read as such.
    _ = unsafe text.withUnsafeBufferPointer { unsafe BIO_write(input.pointer, $0.baseAddress, Int32($0.count)) }
    return input
  }

  private static func next(_ input: OpaquePointer) -> (label: String, bytes: [UInt8])? {
    var label: UnsafeMutablePointer<CChar>?
    var header: UnsafeMutablePointer<CChar>?
    var data: UnsafeMutablePointer<UInt8>?
    var count = 0
    guard unsafe PEM_read_bio(input, &label, &header, &data, &count) == 1, let label = unsafe label, let data = unsafe data else {
      return nil
    }
    defer {
      unsafe cossl_free(label)
      unsafe cossl_free(header)
      unsafe cossl_free(data)
    }
    return unsafe (String(cString: label), Array(UnsafeBufferPointer(start: data, count: count)))
  }

  /// One block.
  static func text(label: String, _ bytes: Span<UInt8>) -> String {
    let output = unsafe Owned(allocated: BIO_new(BIO_s_mem()), { unsafe _ = BIO_free($0) })
    let written = unsafe bytes.withUnsafeBufferPointer { unsafe PEM_write_bio(output.pointer, label, "", $0.baseAddress, $0.count) }
    precondition(written > 0, "libcrypto has no memory")
    return String(decoding: drain(output), as: UTF8.self)
  }

  /// Everything that was written to a memory BIO.
  static func drain(_ output: borrowing Owned) -> [UInt8] {
    let count = unsafe BIO_ctrl_pending(output.pointer)
    return unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
      filled = unsafe max(0, Int(BIO_read(output.pointer, buffer.baseAddress, Int32(buffer.count))))
    }
  }
}
