"""The open route under wrk, beside nginx doing the same."""

import os
import re
import subprocess

from .measuring import OPEN_GOAL, Comparison, cpu_seconds
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


def measure(servers, rounds, seconds, progress):
    """GET with an answer of 200 bytes, and POST with 4 KiB."""
    proxies = {"gate": servers.gate(), "nginx": servers.nginx()}
    script = os.path.join(servers.folder, "post.lua")
    with open(script, "w") as file:
        file.write(POST)
    comparisons = []
    for scenario, wrk_script in (("open GET, 200 B answer", None), ("open POST, 4 KiB", script)):
        comparison = Comparison(scenario, "nginx", OPEN_GOAL)
        for name in proxies:
            load(f"http://127.0.0.1:{proxies[name][0]}/open/item", 1, wrk_script)
        for number in range(rounds):
            cost, rate = {}, {}
            order = ["gate", "nginx"] if number % 2 == 0 else ["nginx", "gate"]
            for name in order:
                port, process = proxies[name]
                before = cpu_seconds(process)
                count = load(f"http://127.0.0.1:{port}/open/item", seconds, wrk_script)
                cost[name] = (cpu_seconds(process) - before) * 1e6 / count
                rate[name] = count / seconds
            comparison.add(cost["gate"], cost["nginx"], rate["gate"])
            progress(f"{scenario}: round {number + 1} of {rounds}: gate {cost['gate']:.1f}, nginx {cost['nginx']:.1f}")
        comparisons.append(comparison)
    return comparisons
