// swift-tools-version: 6.2
// A folder's number is its stage: a target depends on targets of its own stage or a lower one, never on a higher.
import PackageDescription

let settings: [SwiftSetting] = [
  .swiftLanguageMode(.v6),
  .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
  .enableUpcomingFeature("InferIsolatedConformances"),
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .strictMemorySafety(),
  .enableExperimentalFeature("Lifetimes"),
  .treatAllWarnings(as: .error),
]

/// Tests call C and the kernel freely (they start servers, they speak raw sockets), so the memory-safety marks are not asked of them.
let testSettings: [SwiftSetting] = [
  .swiftLanguageMode(.v6),
  .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
  .enableUpcomingFeature("InferIsolatedConformances"),
  .enableUpcomingFeature("ExistentialAny"),
  .treatAllWarnings(as: .error),
]

func foreign(_ name: String) -> Target {
  .systemLibrary(name: name, path: "Sources/0-Foreign/\(name)")
}

/// Only for what must be C: a signal handler, whose rules leave no room for Swift's runtime.
func foreignCode(_ name: String) -> Target {
  .target(name: name, path: "Sources/0-Foreign/\(name)")
}

func module(_ stage: String, _ name: String, _ dependencies: [Target.Dependency]) -> Target {
  .target(
    name: name, dependencies: dependencies, path: "Sources/\(stage)/\(name)",
    swiftSettings: settings)
}

func tests(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
  .testTarget(
    name: "\(name)Tests", dependencies: dependencies + [.target(name: name)],
    path: "Tests/\(name)Tests", swiftSettings: testSettings)
}

/// The checks that fuzzers make. Ordinarily they belong to a test that replays seeds and findings; `scripts/fuzz` makes of the same
/// checks a program with libFuzzer, whose run time no other build needs.
func fuzzers(_ dependencies: [Target.Dependency]) -> Target {
  let path = "Tests/Fuzz"
  let data = ["Seeds", "Findings"]
  return Context.environment["ATTESTGATE_FUZZ"] == "1"
    ? .executableTarget(
      name: "Fuzz", dependencies: dependencies, path: path, exclude: data + ["Replay"], sources: ["Checks", "Driver"],
      swiftSettings: testSettings)
    : .testTarget(
      name: "FuzzTests", dependencies: dependencies, path: path, exclude: data + ["Driver"], sources: ["Checks", "Replay"],
      swiftSettings: testSettings)
}

let package = Package(
  name: "AttestGate",
  products: [
    .executable(name: "attestgate", targets: ["attestgate"]),
    .executable(name: "attestgate-load", targets: ["loadgenerator"]),
  ],
  targets: [
    foreign("CLinux"), foreign("COpenSSL"), foreign("CHiredis"), foreign("CYAML"), foreignCode("CCrashReport"),

    module("1-Wire", "Bytes", []),
    module("1-Wire", "Telemetry", ["Bytes", "EventLoop", "CLinux"]),
    module("1-Wire", "EventLoop", ["Bytes", "CLinux", "CCrashReport"]),

    module("1-Wire", "TLS", ["Bytes", "EventLoop", "COpenSSL"]),

    module("2-Message", "HTTP", ["Bytes"]),

    module("3-Route", "Routing", ["Bytes"]),

    module("4-Gate", "Cryptography", ["Bytes", "COpenSSL"]),
    module("4-Gate", "AppAttest", ["Bytes", "Cryptography"]),
    module("4-Gate", "Store", ["Bytes", "EventLoop", "TLS", "Telemetry", "Cryptography", "AppAttest", "CHiredis"]),
    module("4-Gate", "Gate", ["Bytes", "EventLoop", "Telemetry", "HTTP", "Routing", "Cryptography", "AppAttest", "Store"]),

    module("5-Upstream", "Upstream", ["Bytes", "EventLoop", "TLS", "Telemetry", "HTTP", "Gate"]),

    module(
      "6-Exchange", "Exchange",
      ["Bytes", "EventLoop", "TLS", "Telemetry", "HTTP", "Routing", "Cryptography", "AppAttest", "Store", "Gate", "Upstream"]),

    module(
      "7-Run", "Configuration",
      [
        "Bytes", "EventLoop", "TLS", "HTTP", "Routing", "Cryptography", "AppAttest", "Store", "Gate", "Upstream", "Exchange", "CYAML",
      ]),
    module("7-Run", "Administration", ["Bytes", "EventLoop", "Telemetry", "HTTP", "Store", "Exchange", "CLinux"]),
    module("7-Run", "SimulatedDevice", ["Bytes", "EventLoop", "Cryptography", "AppAttest"]),
    .executableTarget(
      name: "attestgate",
      dependencies: [
        "Bytes", "EventLoop", "TLS", "Telemetry", "HTTP", "Routing", "Cryptography", "AppAttest", "Store", "Gate", "Upstream", "Exchange",
        "Configuration", "Administration", "SimulatedDevice", "CHiredis", "CLinux",
      ],
      path: "Sources/7-Run/attestgate", swiftSettings: settings,
      // Every function of a library is found at the start, and where they are found cannot be written afterwards.
      linkerSettings: [.unsafeFlags(["-Xlinker", "-z", "-Xlinker", "now"])]),

    .executableTarget(
      name: "loadgenerator", dependencies: ["Bytes", "EventLoop", "HTTP", "Cryptography", "AppAttest", "SimulatedDevice", "CLinux"],
      path: "Sources/7-Run/loadgenerator", swiftSettings: settings),

    .target(name: "Fixtures", path: "Tests/Fixtures", swiftSettings: testSettings),
    .testTarget(
      name: "AcceptanceTests", dependencies: ["Fixtures", "HTTP", "Cryptography", "AppAttest", "SimulatedDevice", "attestgate"],
      path: "Tests/AcceptanceTests",
      swiftSettings: testSettings),
    fuzzers(["Bytes", "HTTP", "Routing", "Cryptography", "AppAttest", "Store", "Gate", "Configuration"]),
    tests("Bytes", []),
    tests("HTTP", ["Bytes"]),
    tests("Store", ["Fixtures", "Bytes", "EventLoop", "Cryptography", "AppAttest"]),
    tests("AppAttest", ["Bytes", "Cryptography"]),
    tests("EventLoop", ["Fixtures", "Bytes"]),
    tests("Gate", ["Fixtures", "Bytes", "EventLoop", "HTTP", "Routing", "Cryptography", "AppAttest", "Store"]),
    tests("Telemetry", []),
    tests("TLS", ["Fixtures", "Bytes", "EventLoop", "COpenSSL"]),
    tests("Cryptography", ["Bytes", "COpenSSL"]),
    tests("Routing", ["Bytes"]),
    tests("Administration", ["Fixtures", "Bytes", "EventLoop", "Telemetry", "Store", "Gate", "Exchange"]),
    tests(
      "Exchange",
      [
        "Fixtures", "Bytes", "EventLoop", "Telemetry", "HTTP", "Routing", "Cryptography", "AppAttest", "Store", "Gate", "Upstream",
        "SimulatedDevice",
      ]),
    tests("Upstream", ["Fixtures", "Bytes", "EventLoop", "Telemetry", "HTTP", "Gate"]),
    tests("SimulatedDevice", ["Bytes", "Fixtures", "Cryptography", "AppAttest"]),
    tests("Configuration", ["Fixtures", "Routing", "Cryptography", "AppAttest", "Store", "Gate", "Upstream", "Exchange"]),
  ]
)
