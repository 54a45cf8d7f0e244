"""The open route under wrk, beside nginx doing the same."""

import os
import re
import subprocess

from .measuring import OPEN_GOAL, beside_nginx
from .servers import OTHERS_CPU, program

CONNECTIONS = 32
BODY_BYTES = 4096
POST = f"""
wrk.method = "POST"
wrk.body = string.rep("x", {BODY_BYTES})
wrk.headers["Content-Type"] = "application/octet-stream"
"""


def load(url, seconds, script=None):
    """Loads a proxy with wrk; the number of answers. Any answer but 2xx, and any lost connection, ends the measurement."""
    arguments = ["taskset", "-c", str(OTHERS_CPU), program("wrk"), "-t1", f"-c{CONNECTIONS}", f"-d{seconds}s"]
    if script:
        arguments += ["-s", script]
    output = subprocess.run(arguments + [url], check=True, capture_output=True, text=True).stdout
    if "Non-2xx" in output or "Socket errors" in output:
        raise SystemExit(f"bench: {url} did not serve every request:\n{output}")
    return int(re.search(r"(\d+) requests in", output).group(1))


def post_script(servers):
    """What makes wrk send POST with a body."""
    script = os.path.join(servers.folder, "post.lua")
    with open(script, "w") as file:
        file.write(POST)
    return script


def measure(servers, rounds, seconds, progress):
    """GET with an answer of 200 bytes, and POST with 4 KiB."""
    proxies = {"gate": servers.gate(), "nginx": servers.nginx()}
    comparisons = []
    for scenario, script in (("open GET, 200 B answer", None), ("open POST, 4 KiB", post_script(servers))):
        comparisons.append(
            beside_nginx(
                scenario, OPEN_GOAL, proxies, rounds, seconds,
                lambda port, length: load(f"http://127.0.0.1:{port}/open/item", length, script), progress))
    return comparisons
