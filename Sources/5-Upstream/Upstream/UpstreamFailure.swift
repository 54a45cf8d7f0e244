public import EventLoop
public import HTTP

/// Why an upstream gave no answer that could be passed on.
public enum UpstreamFailure: Error, Sendable, Equatable {
  /// As many requests are under way as may be, and no place came free in time: nothing was sent.
  case overloaded
  /// No server took a connection, the last one for this reason: nothing was sent.
  case unreachable(SocketFailure)
  /// The servers are names, and no address of any is known: nothing was sent.
  case unresolved
  /// The server took the request and closed, or failed, before a byte of its answer came.
  case closedEarly
  /// The connection failed after the answer had begun.
  case brokenOff
  /// No answer in time.
  case timedOut
  /// The client hung up while it waited: nobody is left to be told.
  case abandoned
  /// What came is no HTTP answer, or an ambiguous one; the reason is for the log.
  case invalid(String)

  /// What the client is told.
  public var code: ProblemCode {
    switch self {
    case .overloaded: .overloaded
    case .unreachable(.failed(let error)) where KernelError.isShortage(error): .overloaded
    case .unreachable, .unresolved, .closedEarly, .brokenOff, .abandoned: .upstreamUnreachable
    case .timedOut: .upstreamTimeout
    case .invalid: .upstreamInvalid
    }
  }

  /// What the log is told.
  public var reason: String {
    switch self {
    case .overloaded: "max_concurrent requests are under way, and no place in the queue came free"
    case .unreachable(.timedOut): "no server took a connection in time"
    case .unreachable(.notSecured(let reason)): "no server could be reached over TLS: \(reason)"
    case .unreachable(.failed(let error)): "no server could be reached: \(KernelError.text(error))"
    case .unresolved: "no address is known for the name of any server"
    case .closedEarly: "the server closed before it answered"
    case .brokenOff: "the server broke the answer off"
    case .abandoned: "the client hung up"
    case .timedOut: "the server did not answer in time"
    case .invalid(let reason): reason
    }
  }
}

extension SocketFailure {
  /// Why a connection could not be made, for the operator.
  var reason: String {
    switch self {
    case .timedOut: "it took no connection in time"
    case .failed(let error): KernelError.text(error)
    case .notSecured(let reason): "TLS: \(reason)"
    }
  }
}
