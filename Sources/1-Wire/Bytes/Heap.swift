import Glibc

/// Memory from `malloc`. Swift's own pointers take theirs from `posix_memalign`, whatever the alignment: that passes the allocator's
/// cache of the thread by, costs several times as much, and leaves splinters in front of what it cuts to size.
@usableFromInline
enum Heap {
  /// What `malloc` aligns to, in bytes.
  @usableFromInline static let alignment = 16

  /// `byteCount` bytes, aligned to ``alignment``. Traps when there are none, as every allocation of Swift's does.
  @usableFromInline
  static func allocate(_ byteCount: Int) -> UnsafeMutableRawPointer {
    guard let memory = unsafe malloc(byteCount) else { fatalError("no memory for \(byteCount) bytes") }
    return unsafe memory
  }

  /// Gives back what ``allocate(_:)`` gave.
  @usableFromInline
  static func free(_ memory: UnsafeMutableRawPointer?) { unsafe Glibc.free(memory) }
}
