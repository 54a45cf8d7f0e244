import Glibc

/// Looks again and again, until `condition` holds or the time is over; what comes back says which.
///
/// A test that waits so does not depend on how fast the machine is: it ends as soon as what it waits for is there, and the limit
/// only bounds a failure.
public func eventually(within milliseconds: Int = 10_000, _ condition: () throws -> Bool) rethrows -> Bool {
  let end = monotonicMilliseconds() + milliseconds
  while true {
    if try condition() { return true }
    if monotonicMilliseconds() >= end { return false }
    usleep(5_000)
  }
}

/// Milliseconds of a clock that only goes forward.
public func monotonicMilliseconds() -> Int {
  var time = timespec()
  clock_gettime(CLOCK_MONOTONIC, &time)
  return Int(time.tv_sec) * 1_000 + Int(time.tv_nsec) / 1_000_000
}
