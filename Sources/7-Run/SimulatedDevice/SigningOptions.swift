import AppAttest
import Bytes
import Cryptography

/// How an app signs its requests.
public struct SigningOptions: Sendable, Equatable {
  /// What the client data is.
  public enum Profile: String, Sendable, CaseIterable {
    /// JSON that names challenge, method, path, query and body.
    case json
    /// The raw body, for a route with `client_data: body`.
    case body
  }

  /// The profile.
  public var profile = Profile.json
  /// Whether the key is named in a header; a gate recovers it otherwise.
  public var namesKey = true
  /// Whether the raw path is bound, for a route with `path_form: encoded`.
  public var bindsEncodedPath = false
  /// Whether the host is bound.
  public var bindsHost = false
  /// The name of the assertion's header; nil for the profile's usual one.
  public var assertionHeader: String?
  /// The name of the client data's header.
  public var clientDataHeader = "X-App-Attest-Client-Data"
  /// The name of the key identifier's header.
  public var keyIdentifierHeader = "X-App-Attest-Key-Id"

  /// The usual app: JSON, with its key named.
  public init() {}
}

/// One header field of a request.
public struct HeaderLine: Sendable, Equatable {
  /// The name.
  public var name: String
  /// The value.
  public var value: String

  /// A field.
  public init(_ name: String, _ value: String) {
    self.name = name
    self.value = value
  }
}

extension SimulatedDevice {
  /// Signs a request as an app would: the header fields that go with it. Raises the counter.
  ///
  /// `challenge` is the text that the gate gave; the profile `body` has no use for it.
  public func sign(
    method: String, url: RequestURL, body: [UInt8], challenge: String?, options: SigningOptions = SigningOptions()
  ) -> [HeaderLine] {
    var lines: [HeaderLine] = []
    switch options.profile {
    case .json:
      var clientData = ClientData()
      clientData.challenge = challenge
      clientData.method = method
      clientData.path = options.bindsEncodedPath ? url.path : url.decodedPath
      // A lone question mark is no query.
      clientData.query = url.query.flatMap { $0.isEmpty ? nil : $0 }
      clientData.host = options.bindsHost ? url.authority.lowercased() : nil
      clientData.bodySHA256 = Base64.encode(SHA256.digest(body.span).bytes.span)
      let encoded = clientData.encoded
      lines.append(HeaderLine(options.assertionHeader ?? "X-App-Attest-Assertion", Base64.encode(assert(clientData: encoded).span)))
      lines.append(HeaderLine(options.clientDataHeader, Base64.encode(encoded.span)))
    case .body:
      lines.append(HeaderLine(options.assertionHeader ?? "X-App-Assertion", Base64.encode(assert(clientData: body).span)))
    }
    if options.namesKey { lines.append(HeaderLine(options.keyIdentifierHeader, keyIdentifier.base64)) }
    return lines
  }
}
