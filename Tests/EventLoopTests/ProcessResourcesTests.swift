import EventLoop
import Glibc
import Testing

/// What the system refuses. Each test is a process.
@Suite struct ProcessResourcesTests {
  @Test func whatIsThereIsGivenBack() throws {
    for _ in 0..<20 { try ProcessResources.demand(threads: 50, descriptors: 200) }
  }

  @Test func filesThatMayNotBeOpenedAreSaid() async {
    await #expect(processExitsWith: .exitCode(7)) {
      var limit = rlimit(rlim_cur: 32, rlim_max: 32)
      setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
      do throws(ResourceFailure) {
        try ProcessResources.demand(threads: 1, descriptors: 100)
      } catch {
        exit(error.description.contains("ulimit -n") ? 7 : 1)
      }
    }
  }

  @Test func threadsThatMayNotBeStartedAreSaid() async {
    await #expect(processExitsWith: .exitCode(7)) {
      // Root may have as many as it likes.
      if getuid() == 0 { setuid(64_321) }
      var limit = rlimit(rlim_cur: 1, rlim_max: 1)
      setrlimit(__rlimit_resource_t(__RLIMIT_NPROC.rawValue), &limit)
      do throws(ResourceFailure) {
        try ProcessResources.demand(threads: 20, descriptors: 1)
      } catch {
        exit(error.description.contains("ulimit -u") ? 7 : 1)
      }
    }
  }
}
