import Configuration
import Cryptography
import Fixtures
import Testing

@Suite struct ProblemTests {
  @Test func theSoundConfigurationHasNoProblem() {
    #expect(problems(sound()) == [])
  }

  @Test(arguments: [
    // Keys
    ("admn: {}", "5:1: admn: unknown key; did you mean \"admin\"?"),
    (
      "trusted_proxies: []",
      "5:1: trusted_proxies: unknown key; known here: workers, listeners, admin, drain_delay, drain_timeout, memory_limit, access_log, "
        + "store, apps, challenges, endpoints, upstreams, routes"
    ),
    ("<<: {}", "5:1: <<: merge keys are not understood; write the keys out, or use an alias for a whole value"),
    (
      "listeners: [{bind: 127.0.0.1:1, tsl: {}}]",
      "5:33: listeners[0].tsl: unknown key; did you mean \"tls\"?"
    ),
    (
      "listeners: [{bind: 127.0.0.1:1, nonsense: {}}]",
      "5:33: listeners[0].nonsense: unknown key; known here: bind, tls, trusted_proxies, proxy_protocol, underscore_headers, head_timeout, body_timeout, body_min_rate, idle_timeout, write_timeout, write_min_rate, limits"
    ),
    ("workers: 1\nworkers: 2", "6:1: workers: repeated key; it is first set in line 5"),
    ("routes: [{pth: /a, upstream: orders}]", "4:11: routes[0].pth: unknown key; did you mean \"path\"?"),
    // Kinds
    ("apps: {}", "2:7: apps: must be a list, each entry beginning with \"- \", and is a section"),
    ("apps: [a]", "2:8: apps[0]: must be a section of keys and values, and is a text"),
    ("workers: [1]", "5:10: workers: must be a single value, and is a list"),
    ("workers:", "5:9: workers: has no value; give it one or remove the key"),
    ("routes: [{path: /a, upstream: orders, methods: GET}]", "4:48: routes[0].methods: must be a list, such as [a, b], and is a text"),
    // Quantities
    ("workers: 0", "5:10: workers: must be a number from 1 to 256, and is \"0\""),
    ("workers: many", "5:10: workers: must be a number from 1 to 256, and is \"many\""),
    ("drain_delay: 5", "5:14: drain_delay: must be a duration such as 250ms, 30s, 5m or 1h, and is \"5\""),
    ("drain_delay: -5s", "5:14: drain_delay: must be a duration such as 250ms, 30s, 5m or 1h, and is \"-5s\""),
    ("drain_delay: 1.5s", "5:14: drain_delay: must be a duration such as 250ms, 30s, 5m or 1h, and is \"1.5s\""),
    ("drain_delay: 11m", "5:14: drain_delay: must be from 0ms to 10m, and is \"11m\""),
    ("drain_delay: 999999999999h", "5:14: drain_delay: must be from 0ms to 10m, and is \"999999999999h\""),
    ("challenges: {assert_ttl: 1500ms}", "5:26: challenges.assert_ttl: must be whole seconds"),
    (
      "listeners: [{limits: {head_bytes: 64}}]",
      "5:35: listeners[0].limits.head_bytes: must be a size such as 64KiB, 1MiB, 64KB or 1MB, and is \"64\""
    ),
    ("listeners: [{limits: {head_bytes: 2MiB}}]", "5:35: listeners[0].limits.head_bytes: must be from 1KiB to 1MiB, and is \"2MiB\""),
    (
      "listeners: [{limits: {head_bytes: 8KiB, request_line_bytes: 9KiB}}]",
      "5:61: listeners[0].limits.request_line_bytes: is more than head_bytes, which counts the request line too; raise head_bytes"
    ),
    ("listeners: []", "5:1: listeners: has no entry; remove the key to listen at 127.0.0.1:8080"),
    (
      "listeners: [{underscore_headers: dorp}]",
      "5:34: listeners[0].underscore_headers: must be drop or reject or keep, and is \"dorp\"; did you mean \"drop\"?"
    ),
    // Addresses
    ("admin: {bind: 9901}", "5:15: admin.bind: needs a port, such as \"9901:8080\""),
    ("admin: {bind: \":9901\"}", "5:15: admin.bind: needs an address; write 0.0.0.0:9901 or [::]:9901 for every one"),
    ("admin: {bind: \"localhost:9901\"}", "5:15: admin.bind: must be an IP address and a port; write 127.0.0.1:9901 or [::1]:9901"),
    ("admin: {bind: \"256.0.0.1:9901\"}", "5:15: admin.bind: must be an IP address and a port, such as 127.0.0.1:8080 or [::]:8443"),
    ("admin: {bind: \"::1:9901\"}", "5:15: admin.bind: needs brackets around an IPv6 address, such as 127.0.0.1:8080 or [::]:8443"),
    (
      "admin: {bind: \"127.0.0.1:65536\"}",
      "5:15: admin.bind: has a port that is no number from 0 to 65535; write 127.0.0.1:8080 or [::]:8443"
    ),
    (
      "admin: {bind: \"unix:run/a\"}",
      "5:15: admin.bind: must be unix: and the whole path of the socket, such as unix:/run/attestgate/http.sock, and is \"unix:run/a\""
    ),
    (
      "admin: {bind: \"unix:/\(String(repeating: "a", count: 107))\"}",
      "5:15: admin.bind: has a path longer than the 107 bytes of a socket's; choose a shorter one"
    ),
    (
      "listeners: [{bind: \"unix:/run/a\"}, {bind: \"unix:/run/b\"}, {bind: \"unix:/run/a\"}]",
      "5:66: listeners[2].bind: an earlier listener has this address already; choose another port"
    ),
    // Proxies before the gate
    (
      "listeners: [{trusted_proxies: [10.0.0.7/8]}]",
      "5:32: listeners[0].trusted_proxies[0]: has an address within the block 10.0.0.0/8; write that, or 10.0.0.7 for the one address"
    ),
    (
      "listeners: [{trusted_proxies: [10.0.0.0/33]}]",
      "5:32: listeners[0].trusted_proxies[0]: must have a length from 0 to 32 behind the slash, and is \"10.0.0.0/33\""
    ),
    (
      "listeners: [{trusted_proxies: [lb.internal]}]",
      "5:32: listeners[0].trusted_proxies[0]: must be an address or a block of addresses, such as 10.0.0.0/8, 192.0.2.7, fd00::/8 or unix, "
        + "and is \"lb.internal\""
    ),
    (
      "listeners: [{trusted_proxies: [\"::ffff:10.0.0.7\"]}]",
      "5:32: listeners[0].trusted_proxies[0]: is an IPv4 address inside IPv6; write it as 10.0.0.7"
    ),
    ("listeners: [{trusted_proxies: [unix, unix]}]", "5:38: listeners[0].trusted_proxies[1]: stands in the list already"),
    (
      "listeners: [{proxy_protocol: true}]",
      "5:30: listeners[0].proxy_protocol: needs trusted_proxies beside it: who may say where a connection comes from; "
        + "from others nothing would be taken"
    ),
    (
      "routes: [{path: /a, upstream: orders, upgrade: [h2c]}]",
      "4:49: routes[0].upgrade[0]: must be websocket, and is \"h2c\""
    ),
    (
      "routes: [{path: /a, upstream: orders, methods: [POST], upgrade: [websocket]}]",
      "4:65: routes[0].upgrade: needs GET among the route's methods: a WebSocket begins with it"
    ),
    ("admin: {bind: \"0.0.0.0:8080\"}", "5:15: admin.bind: is a public listener's address; health and metrics need a port of their own"),
    (
      "listeners: [{bind: \"[::1]:80\"}, {bind: \"[::]:80\"}]",
      "5:40: listeners[1].bind: an earlier listener has this address already; choose another port"
    ),
    // Log
    ("access_log: stdot", "5:13: access_log: must be stdout, off or a file's path with a slash, such as ./access.log, and is \"stdot\""),
    ("access_log: /no/such/folder/log", "5:13: access_log: no file can be made in /no/such/folder/; make the folder first"),
    ("access_log: /tmp", "5:13: access_log: /tmp is a folder; name a file in it"),
    // Store
    ("store: {}", "1:8: store: names no store; write redis: {url: …} under it, or memory: {}"),
    ("store: {memory: {}, redis: {url: \"redis://h\"}}", "1:8: store: names redis and memory; keep one of them"),
    ("store: {redis: {}}", "1:16: store.redis.url: is missing; write where Redis listens, such as \"redis://127.0.0.1:6379/0\""),
    (
      "store: {redis: {url: \"redis://h\", tls: {}}}",
      "1:40: store.redis.tls: is for a url with rediss://, and there is none; remove it"
    ),
    (
      "listeners: [{bind: 127.0.0.1:1, tls: {}}]",
      "5:38: listeners[0].tls: names no certificate; write certificate: and private_key: with PEM files"
    ),
    (
      "listeners: [{bind: 127.0.0.1:1, tls: {certificate: c.pem}}]",
      "5:38: listeners[0].tls.private_key: is missing; name the PEM file of the key"
    ),
    ("store: {redis: {url: \"redis://:p@h\", password: q}}", "1:48: store.redis.password: is in the url too; keep one of them"),
    ("store: {redis: {url: \"redis://h\", user: q}}", "1:41: store.redis.user: needs a password beside it"),
    (
      "store: {redis: {url: \"redis://h\", prefix: \"a{b\"}}",
      "1:43: store.redis.prefix: must be at most 64 visible ASCII characters without braces"
    ),
    ("store: {memory: {size: 1}}", "1:18: store.memory.size: unknown key; known here: "),
    // Apps
    ("apps: [{bundle_id: a.b}]", "2:8: apps[0].team_id: is missing; write Apple's team identifier, such as ABCDE12345"),
    ("apps: [{team_id: ABCDE12345}]", "2:8: apps[0].bundle_id: is missing; write the app's bundle identifier, such as com.example.shop"),
    ("apps: [{team_id: A.B, bundle_id: a.b}]", "2:18: apps[0].team_id: must be letters and digits, such as ABCDE12345, and is \"A.B\""),
    (
      "apps: [{team_id: ABCDE12345, bundle_id: a_b}]",
      "2:41: apps[0].bundle_id: must be letters, digits, dots and hyphens, such as com.example.shop, and is \"a_b\""
    ),
    (
      "apps: [{team_id: ABCDE12345, bundle_id: a.b}, {team_id: ABCDE12345, bundle_id: a.b}]",
      "2:47: apps[1]: the app ABCDE12345.a.b is there already; put everything about it into one entry"
    ),
    (
      "apps: [{team_id: ABCDE12345, bundle_id: a.b, environments: [prod]}]",
      "2:61: apps[0].environments[0]: must be production or development or simulated, and is \"prod\""
    ),
    (
      "apps: [{team_id: ABCDE12345, bundle_id: a.b, environments: []}]",
      "2:60: apps[0].environments: has no entry; remove the key for its default"
    ),
    ("apps: [{team_id: ABCDE12345, bundle_id: a.b, trust_roots: []}]", "2:59: apps[0].trust_roots: names no root; write [apple]"),
    (
      "apps: [{team_id: ABCDE12345, bundle_id: a.b, trust_roots: [aple]}]",
      "2:60: apps[0].trust_roots[0]: the file aple cannot be read (No such file or directory); did you mean \"apple\"?"
    ),
    // Endpoints
    ("endpoints: {attest_verify: verify}", "5:28: endpoints.attest_verify: a path begins with \"/\"; it is \"verify\""),
    (
      "endpoints: {attest_verify: /a/*}",
      "5:28: endpoints.attest_verify: must be one path, such as /attest/challenge, without \"*\", \";\" or an encoded slash, and is \"/a/*\""
    ),
    (
      "endpoints: {attest_verify: /assert/%63hallenge}",
      "5:28: endpoints.attest_verify: another endpoint has the path \"/assert/challenge\" too; each needs its own"
    ),
    ("endpoints: {enrol: yes}", "5:20: endpoints.enrol: must be true or false, and is \"yes\""),
    // Upstreams
    ("upstreams: {orders: {}}", "3:21: upstreams.orders.servers: is missing; write at least one, such as [\"http://127.0.0.1:9000\"]"),
    ("upstreams: {orders: {servers: []}}", "3:31: upstreams.orders.servers: has no entry; remove the key for its default"),
    (
      "upstreams: {orders: {servers: [\"http://h\"], tls: {}}}",
      "3:50: upstreams.orders.tls: is for servers with https://, and there is none; remove it"
    ),
    (
      "upstreams: {orders: {servers: [h]}}",
      "3:32: upstreams.orders.servers[0]: must begin with http:// or https://, such as http://10.0.0.7:9000, or be a socket such as unix:/run/app.sock, and is \"h\""
    ),
    (
      "upstreams: {orders: {servers: [\"http://h/api\"]}}",
      "3:32: upstreams.orders.servers[0]: must end with the host or its port: the path that was matched is the path that is forwarded"
    ),
    (
      "upstreams: {orders: {servers: [\"http://u@h\"]}}",
      "3:32: upstreams.orders.servers[0]: must not hold a user; set an Authorization header in request_headers"
    ),
    ("upstreams: {orders: {servers: [\"http://h\", \"http://h:80\"]}}", "3:44: upstreams.orders.servers[1]: stands in the list already"),
    ("upstreams: {orders: {servers: [\"http://a b\"]}}", "3:32: upstreams.orders.servers[0]: names no host that could be reached: \"a b\""),
    ("upstreams: {orders: {servers: [\"http://h:0\"]}}", "3:32: upstreams.orders.servers[0]: must not have port 0"),
    (
      "upstreams: {orders: {servers: [\"http://h\"], request_headers: {set: {\"a b\": c}}}}",
      "3:69: upstreams.orders.request_headers.set.a b: \"a b\" is no header name"
    ),
    (
      "upstreams: {orders: {servers: [\"http://h\"], request_headers: {set: {Content_Length: 3}}}}",
      "3:69: upstreams.orders.request_headers.set.Content_Length: Content_Length is the gate's own to write; remove it"
    ),
    (
      "upstreams: {orders: {servers: [\"http://h\"], response_headers: {remove: [Transfer-Encoding]}}}",
      "3:73: upstreams.orders.response_headers.remove[0]: Transfer-Encoding is the gate's own to write; remove it"
    ),
    (
      "upstreams: {orders: {servers: [\"http://h\"], request_headers: {set: {X-App-Attest-Status: verified}}}}",
      "3:69: upstreams.orders.request_headers.set.X-App-Attest-Status: X-App-Attest-… is the gate's word to the upstream; remove it"
    ),
    (
      "upstreams: {orders: {servers: [\"http://h\"], request_headers: {set: {A: \"b\\r\\nc: d\"}}}}",
      "3:72: upstreams.orders.request_headers.set.A: must not hold a line break or another control character"
    ),
    (
      "upstreams: {orders: {servers: [\"http://h\"], request_headers: {set: {A: b}, remove: [a]}}}",
      "3:85: upstreams.orders.request_headers.remove[0]: a is set or removed already; names are compared without case"
    ),
  ])
  func eachMistakeIsNamedWithItsPlaceAndMend(line: String, problem: String) {
    #expect(problems(sound(line)) == [problem])
  }

  @Test(arguments: [
    ("{upstream: orders}", "4:10: routes[0].path: is missing; write one, such as /v1/**, or /** for every path"),
    ("{path: /a}", "4:10: routes[0].upstream: is missing; name one of upstreams"),
    ("{path: /a, upstream: ordrs}", "4:31: routes[0].upstream: no upstream \"ordrs\"; did you mean \"orders\"?"),
    ("{path: /a, upstream: x}", "4:31: routes[0].upstream: no upstream \"x\""),
    ("{path: a, upstream: orders}", "4:17: routes[0].path: a path begins with \"/\"; it is \"a\""),
    ("{path: /a*, upstream: orders}", "4:17: routes[0].path: \"*\" stands for a whole segment; write %2A for the character; it is \"/a*\""),
    (
      "{path: /a/../b, upstream: orders}",
      "4:17: routes[0].path: the path has a dot segment, and such requests are refused before they are routed; it is \"/a/../b\""
    ),
    (
      "{path: \"/a;b\", upstream: orders}",
      "4:17: routes[0].path: holds what allow_in_path does not list, so it can never match; add semicolon"
    ),
    ("{path: /a, upstream: orders, host: \"*.h\"}", "4:45: routes[0].host: must be one host; leave the key out for every host"),
    (
      "{path: /a, upstream: orders, host: \"h:80\"}",
      "4:45: routes[0].host: must be a host without a port, since ports are not compared, and is \"h:80\""
    ),
    ("{path: /a, upstream: orders, methods: [get]}", "4:49: routes[0].methods[0]: methods are case-sensitive; did you mean \"GET\"?"),
    ("{path: /a, upstream: orders, methods: [TRACE]}", "4:49: routes[0].methods[0]: TRACE is always answered 405; remove it"),
    ("{path: /a, upstream: orders, methods: []}", "4:48: routes[0].methods: has no entry; remove the key for its default"),
    ("{path: /a, upstream: orders, methods: [GET, GET]}", "4:54: routes[0].methods[1]: stands in the list already"),
    (
      "{path: /a, upstream: orders, allow_in_path: [encoded_slsh]}",
      "4:55: routes[0].allow_in_path[0]: must be encoded_slash or encoded_backslash or encoded_percent or semicolon or "
        + "encoded_delimiter, and is \"encoded_slsh\"; did you mean \"encoded_slash\"?"
    ),
    (
      "{path: /a, upstream: orders, gate: of}",
      "4:45: routes[0].gate: must be enforce or monitor or off, and is \"of\"; did you mean \"off\"?"
    ),
    (
      "{path: /a, upstream: orders, allow_in_path: [encoded_slash, semicolon]}",
      "4:54: routes[0].allow_in_path: encoded_slash on a gated route needs path_form: encoded, since decoded paths such as /a%2Fb and /a/b "
        + "would be bound alike"
    ),
    (
      "{path: /a, upstream: orders, gate: {client_data: body}}",
      "4:59: routes[0].gate.client_data: signs the body alone; list the route's methods, such as methods: [POST]"
    ),
    (
      "{path: /a, upstream: orders, methods: [POST], gate: {client_data: body, query: unbound}}",
      "4:89: routes[0].gate.query: has no meaning with client_data: body; remove it"
    ),
    (
      "{path: /a, upstream: orders, methods: [POST], gate: {client_data: body, max_body: 17MiB}}",
      "4:92: routes[0].gate.max_body: must be at most 16MiB with client_data: body, which is read into memory"
    ),
    (
      "{path: /a, upstream: orders, gate: {apps: [ABCDE12345.com.example.shp]}}",
      "4:53: routes[0].gate.apps[0]: no app \"ABCDE12345.com.example.shp\"; did you mean \"ABCDE12345.com.example.shop\"?"
    ),
    (
      "{path: /a, upstream: orders, gate: {environments: [development]}}",
      "4:61: routes[0].gate.environments[0]: no app of this route allows development; add it to the app's environments"
    ),
    (
      "{path: /a, upstream: orders, gate: {counter: {window: 1025}}}",
      "4:64: routes[0].gate.counter.window: must be a number from 1 to 1024, and is \"1025\""
    ),
    (
      "{path: /a, upstream: orders, gate: {counter: lax}}",
      "4:55: routes[0].gate.counter: must be strict or {window: 1 to 1024}, and is \"lax\""
    ),
    (
      "{path: /a, upstream: orders, gate: {counter: {}}}",
      "4:55: routes[0].gate.counter.window: is missing; write how many counters may be late, such as {window: 64}"
    ),
    (
      "{path: /a, upstream: orders, gate: {headers: {assertion: Host}}}",
      "4:67: routes[0].gate.headers.assertion: Host has another meaning; choose a name of its own, such as X-App-Assertion"
    ),
    (
      "{path: /a, upstream: orders, gate: {headers: {assertion: X_A}}}",
      "4:67: routes[0].gate.headers.assertion: must not hold \"_\": such fields are dropped or confused with others; write \"x-a\""
    ),
    (
      "{path: /a, upstream: orders, gate: {headers: {key_id: X-App-Attest-Assertion}}}",
      "4:64: routes[0].gate.headers.key_id: another input of this route has the header \"x-app-attest-assertion\" too; each needs its own"
    ),
  ])
  func eachMistakeInARouteIsNamedWithItsPlaceAndMend(route: String, problem: String) {
    #expect(problems(sound("routes: [\(route)]")) == [problem])
  }

  @Test func aMissingPartIsNamedAtTheDocument() {
    #expect(
      problems("workers: 1\n") == [
        "1:1: store: is missing; write redis: {url: \"redis://127.0.0.1:6379/0\"} under it, or memory: {}",
        "1:1: upstreams: is missing; name at least one, such as api: {servers: [\"http://127.0.0.1:9000\"]}",
        "1:1: routes: is missing; without one every request is answered 404",
      ])
  }

  @Test func aGatedRouteNeedsAnApp() {
    let text =
      "store: {memory: }\nupstreams: {a: {servers: [\"http://h\"]}}\nroutes:\n  - {path: /a, upstream: a, gate: off}\n  - {path: /b, upstream: a}\n"
    let without = text.replacing("upstreams", with: "apps: []\nupstreams")
    #expect(problems(without).count == 1)
    #expect(problems(text) == ["5:5: routes[1].gate: no app is configured whose requests could pass; add apps, or write gate: off"])
  }

  @Test func everythingIsReportedAtOnceInTheOrderOfTheFile() {
    let text = sound("workers: x", "upstreams: {orders: {servers: [a]}}", "routes: [{path: b, upstream: ordres, gate: {mod: off}}]")
    #expect(
      problems(text).map { $0.prefix { $0 != " " } } == ["3:32:", "4:17:", "4:30:", "4:45:", "5:10:"])
  }

  @Test func aRootMustBeACertificateAndNoKey() throws {
    let folder = try TemporaryFolder()
    let text = sound("apps: [{team_id: ABCDE12345, bundle_id: a.b, trust_roots: [root.pem]}]")
    for content in ["", "hello", P384PrivateKey.generate().pem] {
      try folder.write(content, to: "root.pem")
      #expect(
        problems(text, file: folder.file("proxy.yaml")) == [
          "2:60: apps[0].trust_roots[0]: the file \(folder.file("root.pem")) must hold certificates in PEM form and nothing else (malformedPEM)"
        ])
    }
  }

  @Test func anAppThatCannotBeReadIsOneProblem() {
    for app in ["{team_id: ABCDE12345, bundle_id: a.b, trust_roots: [no.pem]}", "{team_id: \"?\", bundle_id: a.b}", "a"] {
      #expect(
        problems(
          sound("apps: [\(app)]", "routes: [{path: /a, upstream: orders, gate: {apps: [ABCDE12345.a.b], environments: [production]}}]")
        ).count
          == 1)
    }
  }

  @Test func aFileThatIsNotThereIsAProblem() {
    #expect(throws: ConfigurationFailure.self) { try ConfigurationLoader.load(file: "/no/such/file.yaml", environment: environment()) }
  }
}
