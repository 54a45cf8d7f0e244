"""The servers of a measurement: private configurations in a temporary folder, ports of their own, ended with it."""

import os
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from typing import NamedTuple

PROXY_CPU = 0
OTHERS_CPU = 1
ANSWER_BYTES = 200

NGINX = """
{user}worker_processes 1;
daemon off;
pid {folder}/{name}.pid;
error_log {folder}/{name}.log warn;
worker_rlimit_nofile 20000;
events {{ worker_connections {connections}; }}
http {{
  access_log off;
  client_body_temp_path {folder}/{name}-body;
  proxy_temp_path {folder}/{name}-proxy;
  fastcgi_temp_path {folder}/{name}-fastcgi;
  scgi_temp_path {folder}/{name}-scgi;
  uwsgi_temp_path {folder}/{name}-uwsgi;
  keepalive_requests 1000000000;
  keepalive_timeout 600s;
{http}
}}
"""

UPSTREAM = """
  server {{
    listen 127.0.0.1:{port};
    default_type application/json;
    location / {{ return 200 "{answer}"; }}
  }}
"""

PROXY = """
  upstream legacy {{
    server 127.0.0.1:{upstream};
    keepalive 128;
    keepalive_requests 1000000000;
    keepalive_timeout 600s;
  }}
  server {{
    listen 127.0.0.1:{port}{tls};
    large_client_header_buffers 4 16k;
    location / {{
      proxy_pass http://legacy;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
    }}
  }}
"""

# What the gate speaks by default.
NGINX_TLS = """ ssl;
    ssl_certificate {folder}/tls.pem;
    ssl_certificate_key {folder}/tls.key;
    ssl_protocols TLSv1.2 TLSv1.3;
    ssl_prefer_server_ciphers on;
    ssl_conf_command Ciphersuites TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256;
    ssl_ecdh_curve X25519:prime256v1:secp384r1;
    ssl_session_cache off;
    ssl_session_tickets on"""

GATE_TLS = "tls: {{certificate: {folder}/tls.pem, private_key: {folder}/tls.key}}"

GATE = """
workers: 1
access_log: off
admin: {{bind: "127.0.0.1:{admin}"}}
listeners:
  - bind: 127.0.0.1:{port}
    idle_timeout: 600s
    limits: {{requests_per_connection: 1000000000, connections_per_address: 20000}}
    {tls}
endpoints: {{rate: off}}
store:
  redis: {{url: "redis://127.0.0.1:{redis}/0"}}
apps:
  - team_id: ABCDE12345
    bundle_id: com.example.shop
    environments: [simulated]
    trust_roots: [{folder}/authority/root.pem]
challenges: {{assert_ttl: 15m}}
upstreams:
  legacy:
    servers: ["http://127.0.0.1:{upstream}"]
    pool: {{idle: 128, idle_timeout: {pool_idle}}}
routes:
  - {{path: /open/**, upstream: legacy, gate: off}}
  - {{path: /v1/**, upstream: legacy}}
"""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def program(name):
    """The path of a program, also where Debian keeps daemons."""
    path = shutil.which(name, path=os.environ["PATH"] + ":/usr/sbin")
    if path is None:
        raise SystemExit(f"bench: {name} is not installed")
    return path


class Proxy(NamedTuple):
    """A proxy that was started."""

    port: int
    # The process that does the work.
    process: int
    # The process that `Servers.stop` ends.
    owner: int


class Servers:
    """Upstream, nginx, Redis and gate, each started when first asked for, all of them ended by `close`."""

    def __init__(self, binaries):
        self.gate_binary = os.path.join(binaries, "attestgate")
        self.load_binary = os.path.join(binaries, "attestgate-load")
        self.folder = tempfile.mkdtemp(prefix="attestgate-bench-")
        self.processes = []
        try:
            self.upstream_port = free_port()
            self._nginx("upstream", OTHERS_CPU, UPSTREAM.format(port=self.upstream_port, answer="x" * ANSWER_BYTES))
            self.await_port(self.upstream_port)
        except BaseException:
            self.close()
            raise

    def close(self):
        for process in reversed(self.processes):
            process.terminate()
        for process in self.processes:
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def stop(self, number):
        """Ends one server in the orderly way."""
        process = next(process for process in self.processes if process.pid == number)
        process.terminate()
        process.wait()
        self.processes.remove(process)

    def start(self, arguments, cpu):
        """Starts a server on one CPU; what it says goes to a file."""
        log = open(os.path.join(self.folder, f"process-{len(self.processes)}.log"), "wb")
        process = subprocess.Popen(
            ["taskset", "-c", str(cpu)] + arguments, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self.processes.append(process)
        return process

    def await_port(self, port):
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    return
            if any(process.poll() is not None for process in self.processes):
                break
            time.sleep(0.02)
        logs = ""
        for name in sorted(os.listdir(self.folder)):
            if name.endswith(".log"):
                with open(os.path.join(self.folder, name), errors="replace") as log:
                    logs += log.read()
        raise SystemExit(f"bench: a server did not start:\n{logs}")

    def _await_ready(self, admin):
        """Waits until the gate has its store."""
        for _ in range(400):
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{admin}/readyz", timeout=5):
                    return
            except urllib.error.URLError:
                time.sleep(0.05)
        raise SystemExit("bench: the gate did not become ready")

    def _nginx(self, name, cpu, http, connections=20_000):
        path = os.path.join(self.folder, f"{name}.conf")
        user = "user root;\n" if os.getuid() == 0 else ""
        with open(path, "w") as file:
            file.write(NGINX.format(user=user, folder=self.folder, name=name, http=http, connections=connections))
        return self.start([program("nginx"), "-c", path, "-p", self.folder, "-e", os.path.join(self.folder, f"{name}.log")], cpu)

    def certificate(self):
        """Makes a certificate for TLS, ECDSA with P-256, that signs itself; the folder that it is in."""
        if not os.path.exists(os.path.join(self.folder, "tls.pem")):
            arguments = [program("openssl"), "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "90"]
            arguments += ["-subj", "/CN=api.example.com", "-addext", "subjectAltName=DNS:api.example.com", "-keyout", "tls.key"]
            subprocess.run(arguments + ["-out", "tls.pem"], check=True, capture_output=True, cwd=self.folder)
        return self.folder

    def nginx(self, tls=False, connections=20_000):
        """nginx as the proxy to compare with, with one worker that has room for so many connections."""
        port = free_port()
        secured = NGINX_TLS.format(folder=self.certificate()) if tls else ""
        master = self._nginx(f"proxy-{port}", PROXY_CPU, PROXY.format(port=port, upstream=self.upstream_port, tls=secured), connections)
        self.await_port(port)
        with open(f"/proc/{master.pid}/task/{master.pid}/children") as children:
            return Proxy(port, int(children.read().split()[0]), master.pid)

    def redis(self):
        """Redis without persistence, on the others' CPU."""
        port = free_port()
        self.start(
            [program("redis-server"), "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", self.folder],
            OTHERS_CPU)
        self.await_port(port)
        return port

    def authority(self):
        """A simulated authority for the gate to trust; its folder."""
        folder = os.path.join(self.folder, "authority")
        if not os.path.exists(folder):
            subprocess.run([self.gate_binary, "device", "authority", folder], check=True, stdout=subprocess.DEVNULL)
        return folder

    def gate(self, binary=None, wrapper=(), redis=None, pool_idle="500s", tls=False):
        """The gate with one worker."""
        port, admin = free_port(), free_port()
        self.authority()
        path = os.path.join(self.folder, f"proxy-{port}.yaml")
        redis = redis or self.redis()
        with open(path, "w") as file:
            file.write(
                GATE.format(
                    port=port, admin=admin, redis=redis, upstream=self.upstream_port, folder=self.folder, pool_idle=pool_idle,
                    tls=GATE_TLS.format(folder=self.certificate()) if tls else ""))
        process = self.start(list(wrapper) + [binary or self.gate_binary, "serve", "--config", path], PROXY_CPU)
        self.await_port(admin)
        self._await_ready(admin)
        return Proxy(port, process.pid, process.pid)
