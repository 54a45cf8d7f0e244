import Exchange
import Fixtures
import Testing

@testable import Administration

@Suite struct ServiceManagerTests {
  @Test func aLoopThatHangsGivesNoSignOfLife() async throws {
    let folder = try TemporaryFolder()
    let server = try DatagramServer(folder.file("notify"))
    let worker = try AdminListenerTests.makeWorker()
    let manager = ServiceManager(["NOTIFY_SOCKET": folder.file("notify"), "WATCHDOG_USEC": "20000"])
    manager.keepAlive([worker])
    #expect(try server.receive() == ["WATCHDOG=1"])
    let (hangs, mayGoOn) = (Latch(), Latch())
    Task(executorPreference: worker.loop) {
      hangs.open()
      mayGoOn.wait()
    }
    hangs.wait()
    _ = try server.count(withinMilliseconds: 100)
    // One sign may have been on its way.
    #expect(try server.count(withinMilliseconds: 300) <= 1)
    mayGoOn.open()
    #expect(try server.receive() == ["WATCHDOG=1"])
    worker.loop.stop()
  }

  @Test func whoHasHandedOverGivesNoSignOfLife() async throws {
    let folder = try TemporaryFolder()
    let server = try DatagramServer(folder.file("notify"))
    let worker = try AdminListenerTests.makeWorker()
    let manager = ServiceManager(["NOTIFY_SOCKET": folder.file("notify"), "WATCHDOG_USEC": "20000"])
    manager.keepAlive([worker])
    #expect(try server.receive() == ["WATCHDOG=1"])
    manager.handedOver(to: 7)
    while try server.receive() != ["MAINPID=7"] {}
    // One sign may have been on its way.
    #expect(try server.count(withinMilliseconds: 300) <= 1)
    worker.loop.stop()
  }

  @Test func onlyTheProcessThatServesSaysThatTheServiceStops() throws {
    let folder = try TemporaryFolder()
    let server = try DatagramServer(folder.file("notify"))
    let variables = ["NOTIFY_SOCKET": folder.file("notify")]
    let (unready, former, service) = (ServiceManager(variables), ServiceManager(variables), ServiceManager(variables))
    unready.stopping(withinMilliseconds: 1)
    former.ready("serves")
    former.handedOver(to: 7)
    former.stopping(withinMilliseconds: 1)
    service.ready("serves")
    service.stopping(withinMilliseconds: 1)
    let told = try (0..<4).map { _ in try server.receive()[0] }
    #expect(told == ["READY=1", "MAINPID=7", "READY=1", "STOPPING=1"])
  }

  @Test func aWatchdogThatNobodyCanMeanKeepsNoCoreBusy() async throws {
    let folder = try TemporaryFolder()
    let server = try DatagramServer(folder.file("notify"))
    let worker = try AdminListenerTests.makeWorker()
    ServiceManager(["NOTIFY_SOCKET": folder.file("notify"), "WATCHDOG_USEC": "1"]).keepAlive([worker])
    let count = try server.count(withinMilliseconds: 200)
    #expect(1...300 ~= count)
    worker.loop.stop()
  }

  @Test func aWatchdogThatIsMeantForAnotherProcessGetsNoSign() async throws {
    let folder = try TemporaryFolder()
    let server = try DatagramServer(folder.file("notify"))
    let worker = try AdminListenerTests.makeWorker()
    let variables = ["NOTIFY_SOCKET": folder.file("notify"), "WATCHDOG_USEC": "20000", "WATCHDOG_PID": "1"]
    ServiceManager(variables).keepAlive([worker])
    #expect(try server.count(withinMilliseconds: 100) == 0)
    worker.loop.stop()
  }
}
