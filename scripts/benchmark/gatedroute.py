"""Gated requests by the package's own load generator, beside the sum of what such a request is made of."""

import json
import os
import re
import resource
import subprocess

from .measuring import GATED_GOAL, Comparison
from .openroute import BODY_BYTES, CONNECTIONS
from .servers import OTHERS_CPU, PROXY_CPU, program

KEYS = 1000
PIPELINE = 8
REDIS_REQUESTS = 100_000

SCENARIOS = (
    ("gated GET", [], "verify_us", False),
    ("gated POST, 4 KiB", ["--body", str(BODY_BYTES)], "verify_us", True),
    ("gated GET, key not named", ["--unnamed"], "recover_us", False),
    ("gated POST, 4 KiB, key not named", ["--unnamed", "--body", str(BODY_BYTES)], "recover_us", True),
)


class Parts:
    """What the parts of a gated request cost, measured where the proxy is measured."""

    def __init__(self, servers, redis):
        self.servers = servers
        self.redis = redis

    def measure(self):
        output = subprocess.run(
            ["taskset", "-c", str(PROXY_CPU), self.servers.load_binary, "parts", "--json"], check=True, capture_output=True, text=True)
        parts = json.loads(output.stdout)
        parts["redis_us"] = self.redis_client_microseconds()
        return parts

    def redis_client_microseconds(self):
        """The CPU time of a C client for a script with the commit's keys and arguments, eight in flight."""
        script = "return redis.call('SET', KEYS[1], ARGV[1], 'PX', 1000)"
        arguments = ["taskset", "-c", str(PROXY_CPU), program("redis-benchmark"), "-p", str(self.redis), "-c", "1", "-P", str(PIPELINE)]
        arguments += ["-n", str(REDIS_REQUESTS), "-r", "1000", "-q", "EVAL", script, "2", "bench:{__rand_int__}", "bench:mark:__rand_int__"]
        arguments += ["x" * 16, "4102444800", "1", "strict", "x" * 32]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(arguments, check=True, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return seconds * 1e6 / REDIS_REQUESTS


class Generator:
    """One scenario's load generator: it prepares a round, says so, and waits for a word before it sends."""

    def __init__(self, servers, gate, nginx, rounds, requests, options):
        arguments = ["taskset", "-c", str(OTHERS_CPU), servers.load_binary, "send", f"http://127.0.0.1:{gate[0]}/v1/item"]
        arguments += ["--process", str(gate[1]), "--beside", f"http://127.0.0.1:{nginx[0]}/v1/item", "--beside-process", str(nginx[1])]
        arguments += ["--authority", servers.authority(), "--keys", str(KEYS), "--connections", str(CONNECTIONS)]
        arguments += ["--requests", str(requests), "--rounds", str(rounds), "--step", "--json"]
        self.process = subprocess.Popen(arguments + options, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def await_ready(self):
        """Waits until the next round is prepared: until then the gate is busy with challenges."""
        if self.process.stdout.readline() != "ready\n":
            raise SystemExit("bench: the load generator failed")

    def round(self):
        """The measurements of one round by target."""
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        measurements = {}
        for _ in range(2):
            line = self.process.stdout.readline()
            if not line:
                raise SystemExit("bench: the load generator failed")
            measurement = json.loads(line)
            if measurement["others"]:
                raise SystemExit(f"bench: not every request was accepted: {line}")
            measurements[measurement["target"]] = measurement
        return measurements

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def measure(servers, rounds, seconds, progress):
    """Each scenario in rounds of about `seconds`; the sum is measured anew in each round."""
    redis = servers.redis()
    gate, nginx = servers.gate(redis=redis), servers.nginx()
    parts_meter = Parts(servers, redis)
    comparisons = []
    for scenario, options, signature_part, has_body in SCENARIOS:
        comparison = Comparison(scenario, "sum of parts", GATED_GOAL)
        requests = int(seconds * (7_000 if signature_part == "recover_us" else 8_000))
        generator = Generator(servers, gate, nginx, rounds + 1, requests, options)
        try:
            generator.await_ready()
            generator.round()
            for number in range(rounds):
                generator.await_ready()
                parts = parts_meter.measure()
                measured = generator.round()
                sha = parts["head_digests_us"] + (parts["body_digest_us"] if has_body else 0)
                cost = {name: measured[name]["cpu_us"] for name in measured}
                total = cost["beside"] + parts[signature_part] + sha + parts["redis_us"]
                comparison.add(
                    cost["gate"], total, measured["gate"]["requests_per_second"],
                    **{"nginx": cost["beside"], "verify or recover": parts[signature_part], "SHA-256": sha, "Redis client": parts["redis_us"]})
                progress(f"{scenario}: round {number + 1} of {rounds}: gate {cost['gate']:.1f}, sum {total:.1f}")
        finally:
            generator.close()
        comparisons.append(comparison)
    return comparisons
