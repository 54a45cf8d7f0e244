"""Honest requests beside slow ones: see scripts/slowloris."""

import argparse
import os
import random
import re
import resource
import socket
import statistics
import subprocess
import sys
import threading
import time
import urllib.request

from .servers import OTHERS_CPU, PROXY_CPU, Servers, free_port, program

GATE = """
workers: 1
access_log: off
admin: {{bind: "127.0.0.1:{admin}"}}
listeners:
  - bind: 127.0.0.1:{port}
    limits: {{connections_per_address: 20000}}
    head_timeout: 5s
    write_timeout: 5s
store: {{memory: {{}}}}
upstreams:
  legacy: {{servers: ["http://127.0.0.1:{upstream}"]}}
routes:
  - {{path: /**, upstream: legacy, gate: off, timeout: 20s}}
"""

UPSTREAM = """
  server {{
    listen 127.0.0.1:{port};
    default_type application/json;
    location / {{ return 200 "{answer}"; }}
    location = /large {{ root {folder}; }}
    # Buffered: it is answered only once its body has come.
    location = /upload {{ proxy_pass http://127.0.0.1:{port}/; }}
  }}
"""

LARGE_BYTES = 4 << 20
PAUSE_SECONDS = 2.0


class SlowClients(threading.Thread):
    """Keeps so many connections open, a third of each kind; each does a little every two seconds, and is replaced when it is cut off."""

    KINDS = ("head", "body", "answer")
    BEGINNINGS = {
        "head": b"GET / HTTP/1.1\r\nHost: slow\r\nX-Slow: ",
        "body": b"POST /upload HTTP/1.1\r\nHost: slow\r\nContent-Length: 1000000\r\n\r\n",
        "answer": b"GET /large HTTP/1.1\r\nHost: slow\r\n\r\n",
    }

    def __init__(self, port, count):
        super().__init__(daemon=True)
        self.port = port
        self.count = count
        self.ended = dict.fromkeys(self.KINDS, 0)
        self.sockets = []
        self.is_full = threading.Event()
        self.is_stopped = False

    def run(self):
        kinds = [self.KINDS[number % 3] for number in range(self.count)]
        random.shuffle(kinds)
        for kind in kinds:
            self.sockets.append((kind, self.connect(kind)))
            time.sleep(0.0005)
        self.is_full.set()
        pause = PAUSE_SECONDS / self.count
        due = time.monotonic()
        while not self.is_stopped:
            for index, (kind, connection) in enumerate(self.sockets):
                if not self.step(kind, connection):
                    connection.close()
                    self.ended[kind] += 1
                    self.sockets[index] = (kind, self.connect(kind))
                due += pause
                if (rest := due - time.monotonic()) > 0:
                    time.sleep(rest)
                if self.is_stopped:
                    break
        for _, connection in self.sockets:
            connection.close()

    def connect(self, kind):
        connection = socket.socket()
        if kind == "answer":
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        connection.connect(("127.0.0.1", self.port))
        connection.sendall(self.BEGINNINGS[kind])
        connection.setblocking(False)
        return connection

    def step(self, kind, connection):
        """A little more; false when the gate has ended the connection."""
        try:
            if kind != "answer":
                connection.send(b"x")
                # Whatever is answered is a refusal, and the connection ends behind it.
                return not connection.recv(4096) and False
            return connection.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) == 0 and bool(connection.recv(1))
        except BlockingIOError:
            return True
        except OSError:
            return False


def honest(port, seconds):
    """p99 in milliseconds, and requests a second, of eight connections that ask as fast as they are answered."""
    output = subprocess.run(
        ["taskset", "-c", str(OTHERS_CPU), program("wrk"), "-t1", "-c8", f"-d{seconds}s", "--latency", f"http://127.0.0.1:{port}/"],
        check=True, capture_output=True, text=True).stdout
    amount, unit = re.search(r"99%\s+([\d.]+)(us|ms|s)\b", output).groups()
    if "Non-2xx" in output or "Socket errors" in output:
        raise SystemExit(f"slowloris: honest requests fail:\n{output}")
    return float(amount) * {"us": 0.001, "ms": 1, "s": 1000}[unit], float(re.search(r"Requests/sec:\s+([\d.]+)", output).group(1))


def timeouts(admin):
    with urllib.request.urlopen(f"http://127.0.0.1:{admin}/metrics", timeout=10) as answer:
        text = answer.read().decode()
    return {kind: int(float(count)) for kind, count in re.findall(r'attestgate_timeouts_total\{kind="(\w+)"\} (\S+)', text)}


def main():
    parser = argparse.ArgumentParser(prog="scripts/slowloris")
    parser.add_argument("--connections", type=int, default=2_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=5)
    options = parser.parse_args()
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    os.sched_setaffinity(0, {OTHERS_CPU})

    servers = Servers(os.environ["BENCH_BINARIES"])
    try:
        # Not the body of a benchmark's upstream only, but a large one too, in a file.
        with open(os.path.join(servers.folder, "large"), "wb") as file:
            file.write(b"x" * LARGE_BYTES)
        upstream, port, admin = free_port(), free_port(), free_port()
        servers._nginx("files", OTHERS_CPU, UPSTREAM.format(port=upstream, answer="x" * 200, folder=servers.folder))
        servers.await_port(upstream)
        path = os.path.join(servers.folder, "proxy.yaml")
        with open(path, "w") as file:
            file.write(GATE.format(port=port, admin=admin, upstream=upstream))
        servers.start([servers.gate_binary, "serve", "--config", path], PROXY_CPU)
        servers.await_port(port)
        sys.exit(measure(port, admin, options))
    finally:
        servers.close()


def measure(port, admin, options):
    alone, beside, ended = [], [], dict.fromkeys(SlowClients.KINDS, 0)
    honest(port, 1)
    for number in range(options.rounds):
        alone.append(honest(port, options.seconds))
        slow = SlowClients(port, options.connections)
        slow.start()
        slow.is_full.wait()
        beside.append(honest(port, options.seconds))
        # Long enough for every kind to have been cut off.
        if number == options.rounds - 1:
            time.sleep(20)
        slow.is_stopped = True
        slow.join()
        for kind in ended:
            ended[kind] += slow.ended[kind]
    columns = [("alone", alone), (f"beside {options.connections} slow", beside)]
    print("| honest requests | p99, ms (median of rounds) | requests/s |\n|---|---|---|")
    for name, rounds in columns:
        print(f"| {name} | {statistics.median(p99 for p99, _ in rounds):.2f} | {statistics.median(rate for _, rate in rounds):,.0f} |")
    ratio = statistics.median(after / before for (before, _), (after, _) in zip(alone, beside))
    print(f"\np99 beside slow clients: {ratio:.2f} x (each round against its own)")
    print(f"slow connections that the gate ended: {ended}; its count by reason: {timeouts(admin)}")
    missing = [kind for kind, count in ended.items() if count == 0]
    if missing:
        print(f"slow with {', '.join(missing)}: never ended")
    return 0 if ratio <= 2 and not missing else 1


if __name__ == "__main__":
    main()
