import Upstream

/// Why an admitted request is not answered by its upstream.
enum ForwardFailure: Error, Equatable {
  /// The upstream gave no answer that could be passed on.
  case upstream(UpstreamFailure)
  /// The client went away: nobody is left to be told.
  case clientGone
  /// What the client sent is no body (RFC 9112 section 7.1).
  case bodyMalformed
  /// The client sent nothing for too long.
  case bodyTimedOut
  /// The body is longer than the route takes.
  case bodyTooLarge
  /// The disk did not give back what was written to it.
  case bodyUnreadable
}
