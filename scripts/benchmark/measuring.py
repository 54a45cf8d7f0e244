"""CPU time, paired rounds, medians with quartiles, verdicts."""

import os
import statistics

OPEN_GOAL = 0.9
GATED_GOAL = 1.0
TLS_GOAL = 1.0
MEMORY_GOAL = 1.0
DEFECT = 1.15


def cpu_seconds(process):
    """What all threads of a process spent on a CPU so far."""
    total = 0
    for thread in os.listdir(f"/proc/{process}/task"):
        try:
            with open(f"/proc/{process}/task/{thread}/schedstat") as file:
                total += int(file.read().split()[0])
        except FileNotFoundError:
            pass
    return total / 1e9


def quartiles(values):
    """Lower quartile, median, upper quartile."""
    if len(values) == 1:
        return values[0], values[0], values[0]
    lower, middle, upper = statistics.quantiles(values, n=4, method="inclusive")
    return lower, middle, upper


class Comparison:
    """One scenario: in each round what the gate cost and what it is compared with cost, both in CPU microseconds a request."""

    def __init__(self, scenario, reference, goal):
        self.scenario = scenario
        self.reference = reference
        self.goal = goal
        self.rounds = []
        self.rates = []
        self.parts = []

    def add(self, gate, reference, rate, **parts):
        self.rounds.append((gate, reference))
        self.rates.append(rate)
        self.parts.append(parts)

    def ratios(self):
        return [gate / reference for gate, reference in self.rounds]

    def verdict(self):
        lower, median, upper = quartiles(self.ratios())
        if median > DEFECT:
            return "defect"
        if median > self.goal:
            return "goal missed"
        return "goal met" if upper <= self.goal else "goal met by the median"

    def row(self):
        lower, median, upper = quartiles(self.ratios())
        gate = statistics.median(gate for gate, _ in self.rounds)
        reference = statistics.median(reference for _, reference in self.rounds)
        rate = statistics.median(self.rates)
        return (
            f"| {self.scenario} | {gate:.1f} | {self.reference} | {reference:.1f} | **{median:.2f}** | {lower:.2f} to {upper:.2f} "
            f"| ≤ {self.goal:.1f} | {self.verdict()} | {rate:,.0f} |")

    def part_row(self):
        names = list(self.parts[0])
        cells = (f"{statistics.median(parts[name] for parts in self.parts):.1f}" for name in names)
        return f"| {self.scenario} | " + " | ".join(cells) + " |"


def beside_nginx(scenario, goal, proxies, rounds, seconds, load, progress):
    """Paired rounds of the gate and nginx; `load(port, seconds)` loads a proxy and answers how many requests it served."""
    comparison = Comparison(scenario, "nginx", goal)
    for proxy in proxies.values():
        load(proxy.port, 1)
    for number in range(rounds):
        cost, rate = {}, {}
        order = ["gate", "nginx"] if number % 2 == 0 else ["nginx", "gate"]
        for name in order:
            before = cpu_seconds(proxies[name].process)
            count = load(proxies[name].port, seconds)
            cost[name] = (cpu_seconds(proxies[name].process) - before) * 1e6 / count
            rate[name] = count / seconds
        comparison.add(cost["gate"], cost["nginx"], rate["gate"])
        progress(f"{scenario}: round {number + 1} of {rounds}: gate {cost['gate']:.1f}, nginx {cost['nginx']:.1f}")
    return comparison


def table(comparisons):
    """The whole result in markdown."""
    lines = [
        "| scenario | gate, CPU µs a request | compared with | CPU µs | ratio, median | quartiles | goal | verdict | requests/s |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    lines += [comparison.row() for comparison in comparisons]
    gated = [comparison for comparison in comparisons if comparison.parts[0]]
    if gated:
        lines += ["", "The sum's parts, CPU µs, medians:", ""]
        names = list(gated[0].parts[0])
        lines += ["| scenario | " + " | ".join(names) + " |", "|---" * (len(names) + 1) + "|"]
        lines += [comparison.part_row() for comparison in gated]
    return "\n".join(lines)
