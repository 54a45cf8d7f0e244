import Foundation

/// nginx as Debian ships it, serving the files of a folder of its own, with its own configuration.
public final class NginxProcess: Sendable {
  /// Where it listens, on 127.0.0.1.
  public let port: UInt16
  /// The folder whose files it serves, and its logs.
  public let folder: TemporaryFolder
  private let process: ChildProcess

  /// Writes `files` (name to content) and starts it. `tls` are the lines with which it speaks TLS, and TLS only.
  public init(files: [String: [UInt8]], tls: [String] = []) throws {
    folder = try TemporaryFolder()
    port = try FreePort.next()
    for (name, content) in files {
      let file = URL(fileURLWithPath: folder.file("files/\(name)"))
      try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
      try Data(content).write(to: file)
    }
    let configuration = folder.file("nginx.conf")
    try Self.configuration(port: port, folder: folder.path, tls: tls).write(toFile: configuration, atomically: false, encoding: .utf8)
    process = try ChildProcess(
      ["nginx", "-p", folder.path, "-e", folder.file("error.log"), "-c", configuration],
      output: folder.file("output"), errors: folder.file("output"))
    let port = self.port
    guard eventually({ (try? RawConnection(port: port)) != nil }) else {
      throw FixtureFailure("nginx does not start: \(folder.read("output")) \(folder.read("error.log"))")
    }
  }

  deinit { process.kill() }

  /// The lines of its access log so far: request line, status, and the user agent.
  public var accessLog: [String] { folder.read("access.log").split(separator: "\n").map(String.init) }

  /// Ends it.
  public func stop() { process.kill() }

  /// One process, so that nothing is left when it is ended; every file it writes lies in the folder.
  private static func configuration(port: UInt16, folder: String, tls: [String]) -> String {
    """
    daemon off;
    master_process off;
    pid \(folder)/nginx.pid;
    error_log \(folder)/error.log notice;
    events { worker_connections 512; }
    http {
      types { text/html html; text/plain txt; application/octet-stream bin; }
      log_format line '"$request" $status "$http_x_forwarded_for" "$http_x_request_id" "$connection"\(tls.isEmpty ? "" : " $ssl_session_reused $ssl_client_verify")';
      access_log \(folder)/access.log line;
      client_body_temp_path \(folder)/client_body;
      proxy_temp_path \(folder)/proxy;
      fastcgi_temp_path \(folder)/fastcgi;
      uwsgi_temp_path \(folder)/uwsgi;
      scgi_temp_path \(folder)/scgi;
      server {
        listen 127.0.0.1:\(port)\(tls.isEmpty ? "" : " ssl");
        \(tls.joined(separator: "\n        "))
        absolute_redirect off;
        root \(folder)/files;
        client_max_body_size 8m;
        gzip on;
        gzip_types text/plain;
        gzip_min_length 100;
        autoindex on;
        location /moved { return 302 /index.html; }
        location /upload { client_body_buffer_size 8m; proxy_pass http://127.0.0.1:\(port)/sink; }
        location /sink { return 200 "received $content_length bytes\\n"; }
      }
    }

    """
  }
}
