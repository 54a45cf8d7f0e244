/// Bytes on their way in or out of a connection: appended at the back, consumed at the front, read in place.
///
/// The storage is taken with the first byte and can be given back while the queue is empty, so that an idle connection holds none.
@safe
public struct ByteQueue: ~Copyable {
  // Invariant: 0 <= head <= tail <= capacity, and `storage` is nil exactly when `capacity` is 0.
  @usableFromInline var storage: UnsafeMutablePointer<UInt8>?
  @usableFromInline var capacity = 0
  @usableFromInline var head = 0
  @usableFromInline var tail = 0

  /// An empty queue without storage.
  @inlinable
  public init() { unsafe storage = nil }

  deinit { unsafe Heap.free(storage) }

  /// Number of bytes waiting.
  @inlinable public var count: Int { tail - head }

  /// Whether no byte is waiting.
  @inlinable public var isEmpty: Bool { tail == head }

  /// Lends the waiting bytes, in place. The queue cannot be changed while they are lent.
  @inlinable
  public func withReadable<Result: ~Copyable, Failure: Error>(
    _ body: (Span<UInt8>) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    guard let storage = unsafe storage else { return try body(Span()) }
    // The pointer is valid for head..<tail as long as `self` is borrowed.
    return try body(unsafe Span(_unsafeStart: storage + head, count: tail - head))
  }

  /// Drops `count` bytes from the front.
  @inlinable
  public mutating func consume(_ count: Int) {
    precondition(count >= 0 && count <= tail - head, "consuming more than is waiting")
    head += count
    if head == tail {
      head = 0
      tail = 0
    }
  }

  /// Drops everything; the storage stays.
  @inlinable
  public mutating func removeAll() {
    head = 0
    tail = 0
  }

  /// Gives the storage back if nothing is waiting.
  @inlinable
  public mutating func releaseStorageIfEmpty() {
    guard head == tail else { return }
    unsafe Heap.free(storage)
    unsafe storage = nil
    capacity = 0
    head = 0
    tail = 0
  }

  /// Makes room for at least `count` more bytes: moves to the front first, grows by doubling otherwise.
  @inlinable
  public mutating func reserve(_ count: Int) {
    if capacity - tail < count { makeRoom(count) }
  }

  @usableFromInline
  mutating func makeRoom(_ count: Int) {
    let waiting = tail - head
    if let storage = unsafe storage, capacity - waiting >= count, head >= waiting {
      unsafe storage.update(from: storage + head, count: waiting)
    } else {
      let larger = max(waiting + count, capacity * 2, 512)
      let fresh = unsafe Heap.allocate(larger).bindMemory(to: UInt8.self, capacity: larger)
      if let storage = unsafe storage {
        unsafe fresh.update(from: storage + head, count: waiting)
        unsafe Heap.free(storage)
      }
      unsafe storage = fresh
      capacity = larger
    }
    head = 0
    tail = waiting
  }

  /// Lends room for at least `minimum` bytes at the back to a call that fills it and returns how many it wrote
  /// (a read from a socket); a negative result adds nothing. Returns what `body` returned.
  @inlinable
  public mutating func appendFilling(
    minimum: Int, _ body: (UnsafeMutableRawBufferPointer) -> Int
  ) -> Int {
    reserve(minimum)
    let room = capacity - tail
    guard let storage = unsafe storage else { return 0 }
    let written = unsafe body(UnsafeMutableRawBufferPointer(start: storage + tail, count: room))
    precondition(written <= room, "more was written than there was room for")
    if written > 0 { tail += written }
    return written
  }

  /// Appends one byte.
  @inlinable
  public mutating func append(_ byte: UInt8) {
    reserve(1)
    unsafe storage.unsafelyUnwrapped[tail] = byte
    tail += 1
  }

  /// Appends the bytes of `bytes`.
  @inlinable
  public mutating func append(_ bytes: Span<UInt8>) {
    let count = bytes.count
    guard count > 0 else { return }
    reserve(count)
    // A span of another owner cannot overlap this storage: the queue is borrowed for change here.
    unsafe bytes.withUnsafeBufferPointer { source in
      unsafe (storage.unsafelyUnwrapped + tail).update(from: source.baseAddress.unsafelyUnwrapped, count: count)
    }
    tail += count
  }

  /// Appends the bytes of `bytes`.
  @inlinable
  public mutating func append(_ bytes: [UInt8]) { append(bytes.span) }

  /// Appends literal text.
  @inlinable
  public mutating func append(_ text: StaticString) {
    let count = text.utf8CodeUnitCount
    guard count > 0 else { return }
    reserve(count)
    unsafe (storage.unsafelyUnwrapped + tail).update(from: text.utf8Start, count: count)
    tail += count
  }

  /// Appends text as UTF-8. A literal is meant as ``append(_:)-(StaticString)``, which counts no references.
  @_disfavoredOverload
  @inlinable
  public mutating func append(_ text: String) { append(text.utf8Span.span) }

  /// Appends `number` in decimal digits.
  public mutating func append(decimal number: Int) {
    if number < 0 { append(UInt8(ascii: "-")) }
    var rest = number.magnitude
    var digits = InlineArray<20, UInt8>(repeating: 0)
    var first = 20
    repeat {
      first -= 1
      digits[first] = UInt8(ascii: "0") + UInt8(rest % 10)
      rest /= 10
    } while rest > 0
    append(digits.span.extracting(first..<20))
  }

  /// Appends `number` in lower-case hexadecimal digits, as a chunk size is written.
  public mutating func append(hexadecimal number: Int) {
    precondition(number >= 0)
    var shift = 60
    while shift > 0 && (number >> shift) & 15 == 0 { shift -= 4 }
    while shift >= 0 {
      append(Hexadecimal.digit(UInt8((number >> shift) & 15)))
      shift -= 4
    }
  }

  /// Moves up to `count` bytes from the front of `other` to the back of this queue.
  @inlinable
  public mutating func move(_ count: Int, from other: inout ByteQueue) {
    let moved = min(count, other.count)
    other.withReadable { append($0.extracting(first: moved)) }
    other.consume(moved)
  }

  /// A copy of the waiting bytes, for the control plane and tests.
  public func copied() -> [UInt8] {
    withReadable { [UInt8](copying: $0) }
  }
}
