"""Where the gate's time goes: samples by perf, and instructions a request by callgrind."""

import os
import re
import shutil
import signal
import subprocess
import time

from .openroute import BODY_BYTES
from .servers import OTHERS_CPU, program

FEW, MANY = 1000, 3000
SAMPLED = 40_000
LISTED = 40
CALLERS = 25
# What Swift does besides: exclusivity checks, reference counts, memory, generic code that was not specialised.
CALLED = (
    "swift_beginAccess", "swift_retain", "swift_release", "swift_allocObject", "malloc", "swift_task_alloc", "swift_getWitnessTable",
    "swift_isUniquelyReferenced_nonNull_native",
)

SCENARIOS = {
    "open": (("open-get", "/open/item", ["--unsigned"]), ("open-post", "/open/item", ["--unsigned", "--body", str(BODY_BYTES)])),
    "gated": (
        ("gated-get", "/v1/item", []),
        ("gated-post", "/v1/item", ["--body", str(BODY_BYTES)]),
        ("gated-get-unnamed", "/v1/item", ["--unnamed"]),
    ),
}


def run(servers, which, folder, progress):
    """Writes perf.txt and callgrind.txt of each scenario into `folder`."""
    os.makedirs(folder, exist_ok=True)
    stripped = os.path.join(servers.folder, "attestgate-stripped")
    shutil.copy(servers.gate_binary, stripped)
    # valgrind cannot read Swift's debugging information; the names of functions stay.
    subprocess.run([program("strip"), "--strip-debug", stripped], check=True)
    for name, path, options in SCENARIOS[which]:
        progress(f"{name}: perf")
        sample(servers, path, options, os.path.join(folder, f"{name}-perf.txt"))
        progress(f"{name}: callgrind, {FEW} and {MANY} requests")
        few = count(servers, stripped, path, options, FEW)
        many = count(servers, stripped, path, options, MANY)
        report = os.path.join(folder, f"{name}-callgrind.txt")
        with open(report, "w") as file:
            file.write(slope(few, many))
        with open(report) as file:
            print(f"## {name}: user-space instructions a request\n\n" + file.read())


def send(servers, port, path, options):
    arguments = ["taskset", "-c", str(OTHERS_CPU), servers.load_binary, "send", f"http://127.0.0.1:{port}{path}"] + options
    if "--unsigned" not in options:
        arguments += ["--authority", servers.authority()]
    return subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def sample(servers, path, options, report):
    """Samples the gate's threads while it is loaded, and not while the load is prepared."""
    port, process, _ = servers.gate()
    generator = send(servers, port, path, options + ["--requests", str(SAMPLED), "--step"])
    generator.stdout.readline()
    data = os.path.join(servers.folder, "perf.data")
    perf = subprocess.Popen(
        [program("perf"), "record", "-q", "-e", "cpu-clock", "-F", "4000", "-p", str(process), "-o", data], stderr=subprocess.DEVNULL)
    time.sleep(1)
    generator.stdin.write("\n")
    generator.stdin.flush()
    generator.stdout.readline()
    perf.send_signal(signal.SIGINT)
    perf.wait()
    generator.communicate()
    servers.stop(process)
    command = [program("perf"), "report", "-i", data, "--stdio", "--percent-limit", "0.3", "-w", "24,100"]
    with open(report, "w") as file:
        for sort in "dso", "dso,symbol":
            text = subprocess.run(command + ["--sort", sort], capture_output=True, text=True).stdout
            file.write(demangled("\n".join(line.rstrip() for line in text.splitlines()) + "\n"))


def count(servers, binary, path, options, requests):
    """What callgrind counted in a gate that served so many requests, of `MANY` that were prepared."""
    output = os.path.join(servers.folder, f"callgrind-{requests}-{time.monotonic_ns()}.out")
    wrapper = [program("valgrind"), "--tool=callgrind", f"--callgrind-out-file={output}", "-q"]
    port, process, _ = servers.gate(binary=binary, wrapper=wrapper)
    options = options + ["--keys", "32", "--connections", "8", "--requests", str(requests), "--withheld", str(MANY - requests)]
    generator = send(servers, port, path, options)
    text, _ = generator.communicate()
    if generator.returncode != 0:
        raise SystemExit(f"bench: the load generator failed: {text}")
    servers.stop(process)
    return counted(output)


def counted(path):
    """From callgrind's file: instructions of each function itself, and how often each function called each of `CALLED`."""
    names = {}

    def resolve(kind, text):
        number, _, name = text.partition(" ")
        if name:
            names[kind, number] = name
        return names.get((kind, number), number)

    costs, calls, here, thing, callee, skip = {}, {}, "", "", "", False
    with open(path) as file:
        for line in file:
            line = line.rstrip("\n")
            if line.startswith("fn="):
                here = resolve("fn", line[3:])
            elif line.startswith("ob="):
                thing = resolve("ob", line[3:])
            elif line.startswith("cfn="):
                callee = resolve("fn", line[4:])
            elif line.startswith("cob="):
                resolve("ob", line[4:])
            elif line.startswith("calls="):
                skip = True
                if callee in CALLED:
                    key = callee, here
                    calls[key] = calls.get(key, 0) + int(line[6:].split()[0])
            elif re.match(r"[+\-*\d]", line):
                if skip:
                    skip = False
                    continue
                fields = line.split()
                if len(fields) > 1:
                    key = os.path.basename(thing), here
                    costs[key] = costs.get(key, 0) + int(fields[1])
    return costs, calls


def each_request(few, many):
    """What one request more costs, most first."""
    slopes = {key: (many.get(key, 0) - few.get(key, 0)) / (MANY - FEW) for key in set(few) | set(many)}
    return sorted(slopes.items(), key=lambda item: -item[1])


def slope(few, many):
    """The cost of one request by object and by function, and who calls what costs without doing anything for the request."""
    costs = each_request(few[0], many[0])
    objects = {}
    for (thing, _), cost in costs:
        objects[thing] = objects.get(thing, 0) + cost
    lines = [f"{sum(cost for _, cost in costs):12,.0f}  in all"]
    lines += [f"{cost:12,.0f}  {thing}" for thing, cost in sorted(objects.items(), key=lambda item: -item[1]) if cost >= 1]
    lines.append("")
    lines += [f"{cost:12,.0f}  {thing}  {function}" for (thing, function), cost in costs[:LISTED]]
    calls = each_request(few[1], many[1])
    for name in CALLED:
        of_name = [(caller, count) for (callee, caller), count in calls if callee == name]
        if sum(count for _, count in of_name) < 0.5:
            continue
        lines += ["", f"{sum(count for _, count in of_name):12,.1f}  calls of {name}, by"]
        lines += [f"{count:12,.1f}  {caller}" for caller, count in of_name[:CALLERS] if count >= 0.5]
    return demangled("\n".join(lines) + "\n")


def demangled(text):
    """Swift's names as they are written."""
    return subprocess.run(["swift", "demangle", "--simplified"], input=text, capture_output=True, text=True, check=True).stdout
