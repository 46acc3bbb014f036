#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Judges what packaging/vm/guest/pmu left behind: usage judge_pmu.py FOLDER."""
import collections
import math
import re
import sys

from judging import check, faults, load, text

KEYS = ("events", "cpus", "ledger", "cycles_ledger", "observations", "degraded", "checks")

HERTZ = 1e9  # of the machine's cycle counter, busy or idle
FULL, IDLE = 0, 1  # the CPUs
CLOCK = 99  # hertz


def by_cpu(rows):
    return {row["cpu"]: row for row in rows}


class PerfScript:
    """perf script -F cpu,event,period: samples and the sum of their periods, by event and CPU."""

    def __init__(self, name):
        self.samples = collections.Counter()
        self.periods = collections.Counter()
        for line in text(name).splitlines():
            match = re.search(r"\[(\d+)\]\s+(\d+)\s+([\w-]+):", line)
            if match:
                key = match[3], int(match[1])
                self.samples[key] += 1
                self.periods[key] += int(match[2])

    def of(self, counts, event):
        return sum(count for (name, _), count in counts.items() if name == event)


def ran(name, cpu):
    """What ran on the CPU until then: (seconds of tasks, number of softirqs)."""
    seconds, softirqs = 0, 0
    for line in text(f"{name}.ran").splitlines():
        words = line.split() or [""]
        if words[0] == f"cpu{cpu}":
            seconds = int(words[7]) / 1e9
        elif words[0].endswith(":") and words[0][:-1].isupper():
            softirqs += int(words[1 + cpu])
    return seconds, softirqs


def ran_by_kernel(name, cpu, recorded):
    """Tasks, as a share of the time that was recorded, (at least, at most), and softirqs at most: a share is certain
    of what ran while it was recorded for sure, and possible of all around that."""
    before, begun, end, after = (ran(f"{name}.{when}", cpu) for when in ("before", "begun", "end", "after"))
    return (end[0] - begun[0]) / recorded, (after[0] - before[0]) / recorded, after[1] - before[1]


def wilson(hits, of):
    """95 % interval of a share."""
    z = 1.96
    middle = (hits + z * z / 2) / (of + z * z)
    half = z / (of + z * z) * math.sqrt(hits * (of - hits) / of + z * z / 4)
    return max(0, middle - half), min(1, middle + half)


def judge_delivery(name, report, perf):
    """Both events, on both CPUs, and the same in perf's eyes."""
    events = {event["name"]: event for event in report["events"]}
    check(sorted(events) == ["cpu-clock", "cycles"], f"{name}: cycles and cpu-clock were recorded: {sorted(events)}")
    reasons = [row["reason"] for row in report["degraded"]]
    check("no_pmu" not in reasons, f"{name}: there is a PMU; degraded: {reasons}")
    complaints = [line for line in text(f"{name.removesuffix('.live')}.perf.err").splitlines() if line.strip()]
    check(not complaints, f"{name}: perf reads the file without a word {complaints[:3]}")
    for event, found in events.items():
        for cpu in (FULL, IDLE):
            samples = perf.samples[event, cpu]
            check(samples >= 10, f"{name}: {event} has {samples} samples on CPU {cpu}, 10 at least")
        theirs = perf.of(perf.samples, event)
        check(found["samples"] == theirs, f"{name}: {event} has {found['samples']} samples, by perf {theirs}")
        if event == "cycles":
            theirs = perf.of(perf.periods, event)
            check(found["event_count"] == theirs, f"{name}: {event} comes to {found['event_count']}, by perf {theirs}")


def judge_cycles(name, report):
    cpus = by_cpu(report["cpus"])
    for number, row in sorted(by_cpu(report["cycles_ledger"]).items()):
        due = cpus[number]["seconds"] * HERTZ
        off = row["counted"] / due - 1
        check(abs(off) <= 0.01, f"{name}: CPU {number} counted {row['counted']} cycles, {due:.0f} passed: {off:+.2%}, 1 % at most")
        off = row["sampled"] / row["counted"] - 1 if row["counted"] else 1
        check(abs(off) <= 0.02, f"{name}: CPU {number}'s samples have {row['sampled']} of them: {off:+.2%}, 2 % at most")


def idle_cycles(report):
    return [row for row in report["observations"] if row["id"] == "cycles_in_idle"]


def figures_of(report):
    return {(row["name"], row.get("of", "")): row["value"] for found in idle_cycles(report) for row in found["figures"]}


def judge_observation(name, report):
    found = idle_cycles(report)
    check(len(found) == 1, f"{name}: cycles that count in idle are observed: {[row['evidence'] for row in found]}")
    for row in found:
        check("Cycles count in idle here: polling idle or emulation." in row["meaning"], f"{name}: {row['meaning'][:60]}")


def inside(busy, truth, grain=0.0):
    return busy["busy_low"] - grain <= truth <= busy["busy_high"] + grain


def judge_full(name, report):
    """CPU 0 had always something to run; CPU 1 had nothing."""
    cpus = by_cpu(report["cpus"])
    check(sorted(cpus) == [FULL, IDLE], f"{name}: both CPUs were recorded: {sorted(cpus)}")
    if sorted(cpus) != [FULL, IDLE]:
        return
    full, idle = cpus[FULL], cpus[IDLE]
    check(full["seconds"] >= 15 and idle["seconds"] >= 15, f"{name}: {full['seconds']:.2f} s were recorded, 15 at least")
    check(inside(full, 1, 0.001) and full["busy_low"] >= 0.95,
          f"{name}: CPU {FULL} was busy all the time, by us {full['busy']:.4f} in {full['busy_low']:.4f} to {full['busy_high']:.4f}")
    # The scheduler accounts for tasks. Of softirqs in idle the kernel counts how many there were. They take microseconds,
    # but the emulator delivers what raises them together with the sample's own timer, so that one in some is hit: a
    # sampling bias that no clock of 99 Hz can see, and that stands in a term of its own.
    least, most, softirqs = ran_by_kernel(name.removesuffix(".live"), IDLE, idle["seconds"])
    check(0 <= least <= most < 0.02, f"{name}: the scheduler knows what ran on CPU {IDLE}: {least:.5f} to {most:.5f}")
    ledger = by_cpu(report["ledger"])[IDLE]
    low, high = wilson(ledger["busy"] * CLOCK, idle["ticks_due"])
    check(low <= most and least <= high,
          f"{name}: tasks ran on CPU {IDLE} {least:.5f} to {most:.5f} of the time by the scheduler, by us {low:.5f} to {high:.5f}")
    in_idle = round(ledger["irq_in_idle"] * CLOCK)
    check(in_idle <= softirqs and idle["busy_high"] < 0.05,
          f"{name}: besides {in_idle} samples hit softirqs in idle, of which there were {softirqs} at most")
    hertz = full["effective_hertz"] or 0
    check(abs(hertz / HERTZ - 1) <= 0.05, f"{name}: CPU {FULL} ran at {hertz / 1e9:.3f} GHz, 1 GHz to 5 %")
    check(idle["effective_hertz"] is None, f"{name}: CPU {IDLE}'s frequency is not available: {idle['effective_hertz']}")

    judge_observation(name, report)
    figures = figures_of(report)
    rate = figures.get(("counted_hertz", f"cpu {IDLE}"), 0)
    check(abs(rate / HERTZ - 1) <= 0.01, f"{name}: by CPU {IDLE}'s {rate:.0f} cycles a second, 1 GHz to 1 %")
    check(("counted_hertz", f"cpu {FULL}") not in figures, f"{name}: and not by CPU {FULL}, which had no idle")


def judge_third(name, report, truth):
    """A load that knows its own CPU time, on CPU 1; neither CPU is idle or full."""
    cpus = by_cpu(report["cpus"])
    if IDLE not in cpus:
        check(False, f"{name}: CPU {IDLE} was recorded")
        return
    cpu = cpus[IDLE]
    # Timer interrupts and the kernel's own threads come on top of the load; a burst at either end is 8 ms.
    check(inside(cpu, truth, 0.02),
          f"{name}: CPU {IDLE} was busy {truth:.4f} by its load's clock, by us {cpu['busy']:.4f} in {cpu['busy_low']:.4f} to {cpu['busy_high']:.4f}")
    for number, row in sorted(cpus.items()):
        # By chance samples of either event hit work: four standard deviations of a quotient of two such shares.
        off = 4 * math.sqrt(2 * (1 - row["busy"]) / (max(row["busy"], 1e-9) * CLOCK * row["seconds"]))
        hertz = row["effective_hertz"]
        right = hertz is not None and abs(hertz / HERTZ - 1) <= off
        check(right or (number != IDLE and hertz is None),
              f"{name}: CPU {number} ran at {hertz} Hz in the {row['busy']:.1%} of its time that it worked, 1 GHz to {off:.1%}")
    judge_observation(name, report)
    low = figures_of(report).get(("idle_hertz_low", f"cpu {IDLE}"), 0)
    check(0.5 * HERTZ <= low <= 1.001 * HERTZ, f"{name}: CPU {IDLE}'s idle counts at {low / 1e9:.3f} GHz at least, really at 1")


def judge_recordings():
    for name in ("full", "third"):
        perf = PerfScript(f"{name}.perf.txt")
        for way in (f"{name}.live", name):
            report = load(f"{way}.json", KEYS)
            judge_delivery(way, report, perf)
            judge_cycles(way, report)
            if name == "full":
                judge_full(way, report)
            else:
                words = text("third.load.txt").split()
                check(len(words) == 2, f"{way}: the load said what it used: {words}")
                judge_third(way, report, int(words[0]) / int(words[1]) if len(words) == 2 else -1)
    rows = [line.split() for line in text("full.txt").splitlines()]
    rows = {row[0]: row[-1] for row in rows if len(row) > 8 and row[0] in ("0", "1") and row[-1] in ("n/a", "GHz")}
    check(rows == {"0": "GHz", "1": "n/a"}, f"full: the report's frequencies: {rows}")
    check(text("partition.txt").strip() == "isolated", f"CPU {IDLE} is balanced with no other: {text('partition.txt').strip()}")


def judge_doctor():
    report = load("doctor.json", KEYS)
    rows = [row for row in report["checks"] if row["check"] == "pmu"]
    check(len(rows) == 1 and rows[0]["verdict"] == "ok", f"doctor: the PMU is fine: {rows}")
    check("armv8_pmuv3" in text("pmus.txt"), f"the machine's PMUs: {text('pmus.txt').split()}")


for part in (judge_doctor, judge_recordings):
    part()
print(f"{len(faults)} faults")
sys.exit(1 if faults else 0)
