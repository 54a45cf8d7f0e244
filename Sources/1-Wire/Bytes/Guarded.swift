/// A value that an object changes in many small steps for every request, such as a connection's queue.
///
/// A stored property of a class is guarded by the language's run time, which keeps a table of the accesses of each thread: about 90
/// instructions an access, a quarter of what a forwarded request cost in user space. Here the same rule, one writer or any number of
/// readers, is kept by one count beside the value, and breaking it traps just so. The value must be confined to one thread, as all that
/// a worker owns is.
@safe
public struct Guarded<Value: ~Copyable>: ~Copyable {
  @safe @usableFromInline
  struct Box: ~Copyable {
    /// Readers now, or −1 for a writer.
    @usableFromInline var accesses = 0
    @usableFromInline var value: Value

    @usableFromInline
    init(_ value: consuming Value) { self.value = value }
  }

  // The pointer is valid as long as `self` lives, and `self` outlives every access that it lends.
  @usableFromInline let box: UnsafeMutablePointer<Box>

  /// Guards `value`.
  @inlinable
  public init(_ value: consuming Value) {
    precondition(MemoryLayout<Box>.alignment <= Heap.alignment)
    unsafe box = unsafe Heap.allocate(MemoryLayout<Box>.size).bindMemory(to: Box.self, capacity: 1)
    unsafe box.initialize(to: Box(value))
  }

  @inlinable
  deinit {
    unsafe box.deinitialize(count: 1)
    unsafe Heap.free(box)
  }

  /// The value. Changing it while it is read, or reading it while it is changed, traps.
  public var value: Value {
    @inlinable
    _read {
      unsafe precondition(box.pointee.accesses >= 0, "a value is read while it is changed")
      unsafe box.pointee.accesses += 1
      defer { unsafe box.pointee.accesses -= 1 }
      yield unsafe box.pointee.value
    }
    @inlinable
    nonmutating _modify {
      unsafe precondition(box.pointee.accesses == 0, "a value is changed while it is used")
      unsafe box.pointee.accesses = -1
      defer { unsafe box.pointee.accesses = 0 }
      yield unsafe &box.pointee.value
    }
  }
}
