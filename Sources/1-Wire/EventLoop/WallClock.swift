import CLinux

/// The time of day, for expiry, logs and dates.
public enum WallClock {
  /// Nanoseconds since 1970.
  public static var unixNanoseconds: UInt64 { clinux_unix_nanoseconds() }

  /// Seconds since 1970.
  public static var unixSeconds: Int { Int(clinux_unix_nanoseconds() / 1_000_000_000) }
}
