import Bytes
import Testing

final class Holder {
  let cell = Guarded(ByteQueue())
  var queue: ByteQueue {
    _read { yield cell.value }
    _modify { yield &cell.value }
  }
}

@Suite struct GuardedTests {
  @Test func aGuardedValueIsReadAndChanged() {
    let holder = Holder()
    holder.queue.append("abc")
    holder.queue.consume(1)
    let bytes = holder.queue.withReadable { first in holder.queue.withReadable { [UInt8](copying: $0) + [UInt8](copying: first) } }
    #expect(bytes == Array("bcbc".utf8))
  }

  @Test func changingAValueWhileItIsReadTraps() async {
    await #expect(processExitsWith: .failure) {
      let holder = Holder()
      holder.queue.append("abc")
      holder.queue.withReadable { _ in holder.queue.append("d") }
    }
  }

  @Test func changingAValueWhileItIsChangedTraps() async {
    await #expect(processExitsWith: .failure) {
      let holder = Holder()
      _ = holder.queue.appendFilling(minimum: 1) { _ in
        holder.queue.append("d")
        return 0
      }
    }
  }

  @Test func readingAValueWhileItIsChangedTraps() async {
    await #expect(processExitsWith: .failure) {
      let holder = Holder()
      _ = holder.queue.appendFilling(minimum: 1) { _ in holder.queue.count }
    }
  }
}
