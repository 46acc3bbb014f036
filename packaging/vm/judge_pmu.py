#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Judges what packaging/vm/guest/pmu left behind: usage judge_pmu.py FOLDER."""
import collections
import re
import sys

from judging import check, faults, load, text

KEYS = ("events", "cpus", "cycles_ledger", "observations", "degraded", "checks")

HERTZ = 1e9  # of the machine's cycle counter, busy or idle
FULL, IDLE = 0, 1  # the CPUs


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
    truth = idle.get("busy_by_proc_stat", -1)
    check(inside(idle, truth, 0.02 / idle["seconds"]) and idle["busy_high"] < 0.3,
          f"{name}: CPU {IDLE} was busy {truth:.4f} by /proc/stat, by us {idle['busy']:.4f} in {idle['busy_low']:.4f} to {idle['busy_high']:.4f}")
    hertz = full["effective_hertz"] or 0
    check(abs(hertz / HERTZ - 1) <= 0.05, f"{name}: CPU {FULL} ran at {hertz / 1e9:.3f} GHz, 1 GHz to 5 %")
    check(idle["effective_hertz"] is None, f"{name}: CPU {IDLE}'s frequency is not available: {idle['effective_hertz']}")

    found = [row for row in report["observations"] if row["id"] == "cycles_in_idle"]
    evidence = found[0]["evidence"] if found else "nothing"
    check(len(found) == 1, f"{name}: cycles that count in idle are observed: {evidence}")
    if found:
        check("Cycles count in idle here: polling idle or emulation." in found[0]["meaning"], f"{name}: {found[0]['meaning'][:60]}")
        figures = {(row["name"], row.get("of", "")): row["value"] for row in found[0]["figures"]}
        rate = figures.get(("counted_hertz", f"cpu {IDLE}"), 0)
        check(abs(rate / HERTZ - 1) <= 0.01, f"{name}: by CPU {IDLE}'s {rate:.0f} cycles a second, 1 GHz to 1 %")
        check(("counted_hertz", f"cpu {FULL}") not in figures, f"{name}: and not by CPU {FULL}, which had no idle")


def judge_third(name, report, truth):
    """A load that knows its own CPU time, on CPU 1."""
    cpu = by_cpu(report["cpus"]).get(IDLE)
    if cpu is None:
        check(False, f"{name}: CPU {IDLE} was recorded")
        return
    # Timer interrupts and the kernel's own threads come on top of the load; a burst at either end is 8 ms.
    check(inside(cpu, truth, 0.02),
          f"{name}: CPU {IDLE} was busy {truth:.4f} by its load's clock, by us {cpu['busy']:.4f} in {cpu['busy_low']:.4f} to {cpu['busy_high']:.4f}")


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


def judge_doctor():
    report = load("doctor.json", KEYS)
    rows = [row for row in report["checks"] if row["check"] == "pmu"]
    check(len(rows) == 1 and rows[0]["verdict"] == "ok", f"doctor: the PMU is fine: {rows}")
    check("armv8_pmuv3" in text("pmus.txt"), f"the machine's PMUs: {text('pmus.txt').split()}")


for part in (judge_doctor, judge_recordings):
    part()
print(f"{len(faults)} faults")
sys.exit(1 if faults else 0)
