"""TLS 1.3 with clients, beside nginx with the same certificate: requests on connections that stay, and handshakes."""

import re
import socket
import ssl
import subprocess

from .measuring import TLS_GOAL, beside_nginx
from .openroute import load, post_script
from .servers import OTHERS_CPU, program

# Clients of handshakes, each with one connection at a time.
CLIENTS = 4
PATH = "/open/item"


class Handshakes:
    """A new connection for each request, by `openssl s_time`: whole handshakes, or such as go on from a ticket."""

    def __init__(self, resumed):
        self.resumed = resumed

    def load(self, port, seconds):
        """The number of connections that were served in about `seconds`."""
        arguments = ["taskset", "-c", str(OTHERS_CPU), program("openssl"), "s_time", "-connect", f"127.0.0.1:{port}", "-www", PATH]
        arguments += ["-reuse" if self.resumed else "-new", "-time", str(seconds)]
        clients = [subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) for _ in range(CLIENTS)]
        return sum(self._counted(client.communicate()[0]) for client in clients)

    def _counted(self, output):
        """s_time writes a sign for each connection: `r` for one that was resumed, `*` for another of TLS 1.3."""
        found = re.search(r"^([r*]*)\n\n(\d+) connections in .*s;.*\n\d+ connections in \d+ real seconds, (\d+) bytes", output, re.M)
        if not found:
            raise SystemExit(f"bench: openssl s_time failed:\n{output[-2000:]}")
        signs, count, bytes_each = found[1], int(found[2]), int(found[3])
        if signs != ("r" if self.resumed else "*") * count or bytes_each < 200:
            raise SystemExit(f"bench: not every handshake was as wanted:\n{output[-2000:]}")
        return count


class Requests:
    """Requests on 32 connections that stay, by wrk."""

    def __init__(self, script=None):
        self.script = script

    def load(self, port, seconds):
        """The number of requests that were served in `seconds`."""
        return load(f"https://127.0.0.1:{port}{PATH}", seconds, self.script)


def trusting_context():
    """A client's side of TLS that takes any certificate."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def agreed(port):
    """Version and cipher suite that a server chooses."""
    with socket.create_connection(("127.0.0.1", port)) as plain, trusting_context().wrap_socket(plain) as secured:
        return secured.version(), secured.cipher()[0]


def measure(servers, rounds, seconds, progress):
    """GET with an answer of 200 bytes, POST with 4 KiB, handshakes with a GET each."""
    proxies = {"gate": servers.gate(tls=True), "nginx": servers.nginx(tls=True)}
    chosen = {agreed(proxy.port) for proxy in proxies.values()}
    if len(chosen) != 1:
        raise SystemExit(f"bench: the two do not speak the same: {chosen}")
    scenarios = (
        ("TLS 1.3 GET, 200 B answer", Requests()),
        ("TLS 1.3 POST, 4 KiB", Requests(post_script(servers))),
        ("full handshake, GET", Handshakes(resumed=False)),
        ("resumed handshake, GET", Handshakes(resumed=True)),
    )
    return [beside_nginx(scenario, TLS_GOAL, proxies, rounds, seconds, clients.load, progress) for scenario, clients in scenarios]
