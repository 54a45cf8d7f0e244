public import Bytes
public import EventLoop

/// A request on its way to an upstream. Its storage serves one request of a client's connection after the other.
public final class OutgoingRequest {
  @usableFromInline let guardedHead = Guarded(ByteQueue())
  @usableFromInline let guardedBody = Guarded(ByteQueue())

  /// Request line and field lines, each with CRLF, without the empty line that ends the head.
  public var head: ByteQueue {
    @inlinable _read { yield guardedHead.value }
    @inlinable _modify { yield &guardedHead.value }
  }

  /// The body as it goes over the wire, when it is in memory whole.
  public var body: ByteQueue {
    @inlinable _read { yield guardedBody.value }
    @inlinable _modify { yield &guardedBody.value }
  }

  /// Whoever asked: when they hang up, nobody wants the answer.
  public let client: Socket

  @usableFromInline struct Terms {
    @usableFromInline var bodyFollows = false
    @usableFromInline var isIdempotent = false
    @usableFromInline var deadline = Instant.never
    @usableFromInline var serverName: String?
  }

  @usableFromInline let terms = Guarded(Terms())

  /// Whether more of the body follows, sent by the caller.
  public var bodyFollows: Bool {
    @inlinable get { terms.value.bodyFollows }
    @inlinable set { terms.value.bodyFollows = newValue }
  }
  /// RFC 9110 section 9.2.2: may be sent again when a reused connection dies before the answer begins.
  public var isIdempotent: Bool {
    @inlinable get { terms.value.isIdempotent }
    @inlinable set { terms.value.isIdempotent = newValue }
  }
  /// When the route's own time-out ends the exchange.
  public var deadline: Instant {
    @inlinable get { terms.value.deadline }
    @inlinable set { terms.value.deadline = newValue }
  }
  /// The server that got it, or that was tried last; nil before the first.
  public internal(set) var serverName: String? {
    get { terms.value.serverName }
    set { terms.value.serverName = newValue }
  }

  /// A request without fields.
  public init(client: Socket) { self.client = client }

  /// Forgets the last request; the storage stays.
  public func reset() {
    head.removeAll()
    body.removeAll()
    terms.value = Terms()
  }

  /// Gives the storage back, for an idle connection.
  public func releaseStorage() {
    reset()
    head.releaseStorageIfEmpty()
    body.releaseStorageIfEmpty()
  }
}
