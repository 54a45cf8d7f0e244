import Bytes

/// libFuzzer's main loop, for a program that has a `main` of its own.
@_silgen_name("LLVMFuzzerRunDriver")
private func runDriver(
  _ argumentCount: UnsafeMutablePointer<CInt>, _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?>,
  _ check: @convention(c) (UnsafePointer<UInt8>?, Int) -> CInt
) -> CInt

/// The fuzzer that this process runs: libFuzzer's callback has room for no more than the input.
nonisolated(unsafe) private var fuzzer = Fuzzer.all[0]

/// `Fuzz NAME [libFuzzer's arguments]`, or `Fuzz --list`. SwiftPM gives the entry point of an executable this name.
@_cdecl("Fuzz_main")
func fuzzMain(_ argumentCount: CInt, _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) -> CInt {
  let name = argumentCount > 1 ? arguments[1].map { String(cString: $0) } ?? "" : ""
  if name == "--list" {
    for fuzzer in Fuzzer.all { print(fuzzer.name) }
    return 0
  }
  guard let named = Fuzzer.named(name) else {
    print("no fuzzer is called \"\(name)\"; --list names them")
    return 2
  }
  fuzzer = named
  // libFuzzer sees the program's name in place of the fuzzer's.
  arguments[1] = arguments[0]
  var count = argumentCount - 1
  var rest: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? = arguments + 1
  return runDriver(&count, &rest) { input, count in
    let bytes = Array(UnsafeBufferPointer(start: input, count: min(count, fuzzer.inputBytesMax)))
    do throws(Broken) {
      try fuzzer.check(bytes)
    } catch {
      fatalError("\(fuzzer.name): \(error)")
    }
    return 0
  }
}
