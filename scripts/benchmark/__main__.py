"""The command line of scripts/bench."""

import argparse
import os
import sys

from . import gatedroute, memory, openroute, profile, tlsroute
from .measuring import table
from .servers import Servers


def progress(text):
    print(f"bench: {text}", file=sys.stderr, flush=True)


def main():
    parser = argparse.ArgumentParser(prog="scripts/bench", description="CPU time a request of the gate beside nginx, in paired rounds.")
    parser.add_argument("--rounds", type=int, default=10, metavar="N", help="rounds of each scenario (10)")
    parser.add_argument("--seconds", type=int, default=2, metavar="N", help="length of a round (2)")
    parser.add_argument("--only", choices=["open", "tls", "gated", "memory"], help="a part of it")
    parser.add_argument("--profile", choices=["open", "gated"], help="profiles the gate instead")
    parser.add_argument("--into", default=".bench", metavar="DIR", help="where profiles go (.bench)")
    arguments = parser.parse_args()
    if len(os.sched_getaffinity(0)) < 2:
        raise SystemExit("bench: two CPUs are needed, one for the proxy alone")
    servers = Servers(os.environ["BENCH_BINARIES"])
    try:
        if arguments.profile:
            profile.run(servers, arguments.profile, arguments.into, progress)
            return
        comparisons = []
        for name, part in (("open", openroute), ("tls", tlsroute), ("gated", gatedroute)):
            if arguments.only in (None, name):
                comparisons += part.measure(servers, arguments.rounds, arguments.seconds, progress)
        if comparisons:
            print(table(comparisons))
        if arguments.only == "memory":
            print(memory.measure(servers, arguments.rounds, progress))
    finally:
        servers.close()


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
