"""What scripts/soak runs: a mix of requests, and the gate's resources before and after."""

import argparse
import os
import socket
import struct
import subprocess
import sys
import time

from .servers import Servers

# Heads that are refused, bodies that break off, peers that go away: what each of these connections held must come back.
BAD = [
    b"GET / HTTP/1.1\nHost: h\n\n",
    b"GET /open/a HTTP/1.1\r\nHost: h\r\nHost: i\r\n\r\n",
    b"POST /open/a HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    b"POST /open/a HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    b"GET /open//a HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n",
    b"GET /nowhere HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n",
    b"GET /v1/a HTTP/1.1\r\nHost: h\r\nX-App-Attest-Assertion: AAAA\r\nX-App-Attest-Client-Data: e30=\r\nConnection: close\r\n\r\n",
    b"POST /attest/verify HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}",
    b"GET /open/a HTTP/1.1\r\nHost: h\r\nA: " + b"a" * 40000 + b"\r\n\r\n",
]
# These end by going away, in the middle of what they say; every second one with a reset.
BROKEN_OFF = [
    b"POST /open/a HTTP/1.1\r\nHost: h\r\nContent-Length: 100\r\n\r\nhalf",
    b"POST /v1/a HTTP/1.1\r\nHost: h\r\nContent-Length: 100\r\n\r\nhalf",
    b"GET /open/a HTTP/1.1\r\nHost:",
    b"",
    b"GET /open/a HTTP/1.1\r\nHost: h\r\n\r\n" * 3,
]


def resources(process):
    """File descriptors, threads, and resident memory in KiB."""
    with open(f"/proc/{process}/status") as status:
        fields = dict(line.split(":", 1) for line in status)
    return len(os.listdir(f"/proc/{process}/fd")), int(fields["Threads"]), int(fields["VmRSS"].split()[0])


def at_rest(process):
    """The resources once they have not changed for three seconds, which is longer than a pooled connection lives here."""
    last, since = None, time.monotonic()
    deadline = since + 60
    while time.monotonic() < deadline:
        now = resources(process)[:2]
        if now != last:
            last, since = now, time.monotonic()
        elif time.monotonic() - since > 3:
            break
        time.sleep(0.1)
    return resources(process)


def load(servers, port, path, count, options, expected):
    """Sends through the load generator; a status other than 200 is its exit code 1."""
    arguments = [servers.load_binary, "send", f"http://127.0.0.1:{port}{path}", "--requests", str(count)] + options
    result = subprocess.run(arguments, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if result.returncode != expected:
        raise SystemExit(f"soak: {' '.join(arguments)} ended with {result.returncode}:\n{result.stdout.decode()[-2000:]}")


def refused(port, count):
    """Bad requests, each on a connection of its own, whose answer is read to its end."""
    for number in range(count):
        with socket.create_connection(("127.0.0.1", port), timeout=20) as peer:
            peer.sendall(BAD[number % len(BAD)])
            try:
                answer = b"".join(iter(lambda: peer.recv(65536), b""))
            except ConnectionResetError:
                answer = b"HTTP/1.1 4"
            if not answer.startswith(b"HTTP/1.1 4"):
                raise SystemExit(f"soak: {BAD[number % len(BAD)][:80]} was answered {answer[:80]}")


def broken_off(port, count):
    """Peers that say a part and go away."""
    for number in range(count):
        with socket.create_connection(("127.0.0.1", port), timeout=20) as peer:
            peer.sendall(BROKEN_OFF[number % len(BROKEN_OFF)])
            if number % 2 == 0:
                peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def mix(servers, port, count):
    """So many requests: half of them open, three tenths signed, the rest bad in every way."""
    unsigned = ["--unsigned", "--connections", "32"]
    load(servers, port, "/open/item", count * 5 // 10, unsigned, 0)
    signed = ["--authority", servers.authority(), "--keys", "64", "--connections", "32"]
    load(servers, port, "/v1/item", count * 2 // 10, signed, 0)
    load(servers, port, "/v1/item", count // 10, signed + ["--body", "4096", "--unnamed"], 0)
    load(servers, port, "/v1/item", count // 10, unsigned, 1)
    refused(port, count * 6 // 100)
    broken_off(port, count * 4 // 100)


def main():
    parser = argparse.ArgumentParser(prog="scripts/soak", description="Holds that requests leave the gate's resources where they were.")
    parser.add_argument("--requests", type=int, default=100_000, metavar="N", help="requests in all (100000)")
    count = parser.parse_args().requests
    servers = Servers(os.environ["BENCH_BINARIES"])
    try:
        port, process, _ = servers.gate(pool_idle="1s")
        # The first fifth fills caches and buffers and lets the allocator find its size; it is what the rest is compared with.
        mix(servers, port, count // 5)
        before = at_rest(process)
        for _ in range(4):
            mix(servers, port, count // 5)
        after = at_rest(process)
        print(f"soak: descriptors {before[0]} then {after[0]}, threads {before[1]} then {after[1]}, KiB {before[2]} then {after[2]}")
        grown = after[2] - before[2]
        if after[0] > before[0] or after[1] > before[1] or grown > before[2] // 10 + 2048:
            raise SystemExit(f"soak: not everything came back after {count} requests")
    finally:
        servers.close()


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
