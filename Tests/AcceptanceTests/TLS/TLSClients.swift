import Fixtures

/// What the programs that everybody has say of the gate's TLS.
struct TLSClients {
  let port: UInt16
  let authority: CertificateAuthority

  /// curl's output and status for `https://name:port/path`.
  func curl(_ name: String, _ path: String = "/", _ options: String...) throws -> CommandRun {
    try CommandRun(
      ["curl", "-sS", "--cacert", authority.certificateFile, "--resolve", "\(name):\(port):127.0.0.1", "--max-time", "20"] + options
        + ["https://\(name):\(port)\(path)"])
  }

  /// What `openssl s_client` tells of a connection on which `input` is sent.
  func openssl(_ options: String..., input: String = "") throws -> String {
    let run = try CommandRun(
      ["openssl", "s_client", "-connect", "127.0.0.1:\(port)", "-CAfile", authority.certificateFile] + options, input: Array(input.utf8),
      milliseconds: 20_000)
    return run.text + run.errors
  }
}
