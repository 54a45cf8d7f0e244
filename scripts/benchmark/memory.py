"""Memory for each idle connection, plain and with TLS, beside nginx."""

import resource
import socket
import statistics
import time

from .measuring import MEMORY_GOAL
from .tlsroute import trusting_context

CONNECTIONS = 10_000
WARMING = 100
# Room of an nginx for these, the last sixteenth of which it keeps free, and of one for few.
MANY, FEW = CONNECTIONS * 11 // 10, 300
# Longer than the gate keeps the buffers of a connection that has nothing to do.
IDLE_SECONDS = 5
ANSWER_BYTES = 200
REQUEST = b"GET /open/item HTTP/1.1\r\nHost: api.example.com\r\nUser-Agent: bench\r\nAccept: */*\r\n\r\n"


def own_bytes(process):
    """Bytes of memory that are this process's alone."""
    with open(f"/proc/{process}/smaps_rollup") as file:
        return sum(int(line.split()[1]) for line in file if line.startswith(("Private_Dirty:", "Swap:"))) << 10


class Clients:
    """Connections that have each had one answer and stay."""

    def __init__(self, port, tls, count):
        self.connections = []
        context = trusting_context() if tls else None
        for _ in range(count):
            connection = socket.create_connection(("127.0.0.1", port))
            self.connections.append(context.wrap_socket(connection) if context else connection)
            self._ask(self.connections[-1])

    def ask_again(self):
        """Another request on each: all must still be there."""
        for connection in self.connections:
            self._ask(connection)

    def close(self):
        for connection in self.connections:
            connection.close()

    @staticmethod
    def _ask(connection):
        connection.sendall(REQUEST)
        answer = b""
        while len(answer.partition(b"\r\n\r\n")[2]) < ANSWER_BYTES:
            part = connection.recv(4096)
            if not part:
                raise SystemExit("bench: a connection was not kept")
            answer += part


def warmed_bytes(server, tls):
    """What a server has before there are many: what the first connections make once belongs to none of them."""
    Clients(server.port, tls, WARMING).close()
    time.sleep(IDLE_SECONDS)
    return own_bytes(server.process)


def bytes_a_connection(server, tls, before):
    """What a fresh server has more than `before` after ten thousand connections with a request each, and a pause."""
    warmed = warmed_bytes(server, tls)
    clients = Clients(server.port, tls, CONNECTIONS)
    time.sleep(IDLE_SECONDS)
    after = own_bytes(server.process)
    clients.ask_again()
    clients.close()
    return (after - (warmed if before is None else before)) / CONNECTIONS


def of_gate(servers, tls, redis):
    server = servers.gate(redis=redis, tls=tls)
    found = bytes_a_connection(server, tls, before=None)
    servers.stop(server.owner)
    return found


def of_nginx(servers, tls):
    """nginx makes and fills a table for all the connections that it may have when it starts: one with room for few tells what it has
    without them, one with room for these what it has with them."""
    small = servers.nginx(tls=tls, connections=FEW)
    before = warmed_bytes(small, tls)
    servers.stop(small.owner)
    server = servers.nginx(tls=tls, connections=MANY)
    found = bytes_a_connection(server, tls, before)
    servers.stop(server.owner)
    return found


def measure(servers, rounds, progress):
    """A table in markdown."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if most < CONNECTIONS + 1_000:
        raise SystemExit(f"bench: {CONNECTIONS} connections need as many open files: raise `ulimit -Hn`")
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    redis = servers.redis()
    lines = [f"| {CONNECTIONS} idle connections | gate, bytes each | nginx, bytes each | ratio, median | goal |", "|---|---|---|---|---|"]
    for scenario, tls in (("plain", False), ("TLS 1.3", True)):
        found = {"gate": [], "nginx": []}
        for number in range(rounds):
            found["gate"].append(of_gate(servers, tls, redis))
            found["nginx"].append(of_nginx(servers, tls))
            progress(f"{scenario}: round {number + 1} of {rounds}: " + ", ".join(f"{name} {found[name][-1]:,.0f}" for name in found))
        ratio = statistics.median(gate / nginx for gate, nginx in zip(found["gate"], found["nginx"]))
        gate, nginx = (statistics.median(values) for values in found.values())
        lines.append(f"| {scenario} | {gate:,.0f} | {nginx:,.0f} | **{ratio:.2f}** | ≤ {MEMORY_GOAL:.1f} |")
    return "\n".join(lines)
