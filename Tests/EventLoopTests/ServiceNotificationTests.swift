import EventLoop
import Fixtures
import Testing

@Suite struct ServiceNotificationTests {
  @Test func nothingIsLostWhileTheServiceManagerIsBusy() throws {
    let folder = try TemporaryFolder()
    let server = try DatagramServer(folder.file("notify"))
    let notification = try #require(ServiceNotification(socket: folder.file("notify")))
    // More than a queue of the kernel takes.
    let sender = TestThread { for number in 0..<2_000 { notification.send("NUMBER=\(number)") } }
    for number in 0..<2_000 {
      let lines = try server.receive()
      guard lines == ["NUMBER=\(number)"] else {
        Issue.record("\(lines) came instead of number \(number)")
        break
      }
    }
    sender.join()
  }
}
