import CLinux

/// Standard input, output and error, descriptors 0 to 2.
public enum StandardDescriptors {
  /// Opens those that the process was started without, on /dev/null: else the next sockets would get their numbers, and what is written
  /// to standard output would go to a client, or to the store. To be called before anything else is opened.
  public static func open() {
    for descriptor in STDIN_FILENO...STDERR_FILENO where clinux_is_open(descriptor) == 0 {
      // The lowest number that is free is given, which is this one.
      _ = clinux_open_null()
    }
  }
}
