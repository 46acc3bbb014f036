#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Judges what packaging/vm/guest/symbols left behind: usage judge_symbols.py FOLDER."""
import bisect
import collections
import re
import sys

from judging import check, faults, load, text

KEYS = ("events", "notes", "degraded")

# A load of 1.2 s at 997 Hz gives a thousand samples, and an emulated CPU of a busy host a third of them.
ENOUGH = 200


def functions(report):
    """{(dso, symbol or None): self samples} of all events."""
    counts = collections.Counter()
    for event in report["events"]:
        for row in event["functions"]:
            counts[row["dso"], None if row.get("unknown") else row["symbol"]] += row["self_samples"]
    return counts


class Kallsyms:
    """Code symbols by address; all names of one address count."""

    def __init__(self, name):
        self.names = collections.defaultdict(set)
        for line in text(name).splitlines():
            match = re.fullmatch(r"([0-9a-f]+) ([tTwW]) (\S+)(?:\t\[(\S+)\])?", line)
            if match:
                self.names[int(match[1], 16)].add((f"[{match[4] or 'kernel.kallsyms'}]", match[3]))
        self.starts = sorted(self.names)

    def at(self, address):
        at = bisect.bisect_right(self.starts, address)
        return self.names[self.starts[at - 1]] if at else set()


def samples_of(report, dso, symbol):
    return functions(report)[dso, symbol]


def plain(symbol):
    """A clone is counted as its function."""
    return re.split(r"\.(?:isra|constprop|part|cold|llvm)\b", symbol)[0]


def judge_load():
    labels = set(text("labels.txt").split())
    kallsyms = Kallsyms("kallsyms.txt")
    modules = {line.split()[0] for line in text("modules").splitlines()}
    expected = collections.Counter()  # by the names of an address
    for word in text("load.addresses.txt").split():
        names = kallsyms.at(int(word, 16))
        module = next(iter(names))[0] if names else ""
        if module.strip("[]") in modules and int(word, 16) >= 0xFFFF800000000000:
            if not any(symbol in labels for _, symbol in names):
                expected[frozenset((dso, plain(symbol)) for dso, symbol in names)] += 1
    print(f"      {sum(expected.values())} samples in {len(expected)} functions of "
          f"{len({next(iter(n))[0] for n in expected})} modules, by the kernel's own list")
    check(sum(expected.values()) > 1000, "there are samples in modules to compare")
    seen = {next(iter(names))[0] for names in expected}
    for module in ("[ext4]", "[virtio_blk]", "[pv_whole]", "[pv_split]"):
        check(module in seen, f"{module} was sampled")

    for name, gaps in (("load", True), ("load.live", True), ("load.kallsyms", False)):
        ours = functions(load(f"{name}.json", KEYS))
        wrong, unnamed = [], collections.Counter()
        for names, count in expected.items():
            module = next(iter(names))[0]
            found = sum(ours[key] for key in names)
            if found == count or any(symbol.endswith("_gap") for _, symbol in names):
                continue
            unnamed[module] += count - found
            wrong.append(f"{sorted(names)}: {count} samples, {found} here")
        # Live, the recorder's own last samples may differ by what came while it ended.
        check(not wrong, f"{name}: each module function has the samples that its addresses have {wrong[:5]}")
        for module in ("pv_whole", "pv_split"):
            lost = ours[f"[{module}]", None]
            called = ours[f"[{module}]", f"{module}_gap"]
            if gaps:
                check(lost > 100 and called <= lost / 20,
                      f"{name}: {lost} samples of {module} behind a symbol's end are a gap, {called} are {module}_gap")
            else:
                check(called > 100 and lost == 0, f"{name}: without the file {called} are {module}_gap, as kallsyms says")
    notes = " ".join(load("load.json", KEYS)["notes"])
    check("named by the modules' files" in notes and "kallsyms" not in notes, f"load: a note says so: {notes[:200]}")
    notes = " ".join(load("load.kallsyms.json", KEYS)["notes"])
    check("pv_split (there is no file of it)" in notes, f"load.kallsyms: a note says so: {notes[:300]}")


def judge_inlined():
    """All of hot's work is step's, which exists only in the modules' debug information."""
    plain_report, by_default, asked = (load(f"{name}.json", KEYS) for name in ("load", "load.inline", "load.modules"))
    lines = load("load.lines.json", KEYS)
    for module in ("pv_whole", "pv_split"):
        dso, hot, step = f"[{module}]", f"{module}_hot", f"{module}_step"
        whole = samples_of(plain_report, dso, hot)
        check(samples_of(by_default, dso, hot) == whole and samples_of(by_default, dso, step) == 0,
              f"load.inline: --inline leaves the {whole} samples of {hot} as they are")
        inlined = samples_of(asked, dso, step)
        check(inlined + samples_of(asked, dso, hot) == whole and inlined >= 0.95 * whole,
              f"load.modules: {inlined} of them are {step}, compiled into {hot}")
        placed = sum(row["self_samples"] for event in lines["events"] for row in event["functions"]
                     if row["dso"] == dso and row.get("file", "").endswith("pv_work.h") and row["symbol"] == hot)
        check(placed >= 0.95 * whole, f"load.lines: {placed} samples of {hot} have their line")


def judge_late():
    for name in ("late.live", "late"):
        report = load(f"{name}.json", KEYS)
        hot = samples_of(report, "[pv_split]", "pv_split_hot")
        check(hot > 300, f"{name}: a module that was loaded meanwhile has {hot} samples in pv_split_hot")


def judge_copies():
    def by_perf(form):
        rows = collections.Counter()
        for line in text(f"perf-{form}.txt").splitlines():
            match = re.search(r"([0-9a-f]+) (\S+) \((\S+)\)", line)
            if match:
                rows[match[3], match[2]] += 1
        return rows

    full, stripped = by_perf("full"), by_perf("stripped")
    print("      perf, full:    ", full.most_common(8))
    print("      perf, stripped:", stripped.most_common(8))
    for module in ("pv_whole", "pv_split"):
        for function in ("hot", "warm"):
            named = sum(n for (_, symbol), n in full.items() if symbol == f"{module}_{function}")
            check(named > ENOUGH, f"perf with the full copy names {named} samples {module}_{function}")
    for function in ("hot", "warm"):
        named = sum(n for (_, symbol), n in stripped.items() if symbol == f"pv_whole_{function}")
        check(named > ENOUGH, f"perf with the stripped copy names {named} samples pv_whole_{function} by the module's file")
        named = sum(n for (_, symbol), n in stripped.items() if symbol == f"pv_split_{function}")
        check(named == 0, f"and {named} samples pv_split_{function}, whose sections lie apart")
    check("--symfs" in text("kallsyms-full.err"), "perfvigil kallsyms --full says how perf is to be asked")
    lines = text("copy-full.txt").splitlines()
    check(any("\t[pv_split]" in line for line in lines), "the full copy has the modules' symbols")
    lines = text("copy-stripped.txt").splitlines()
    check(len(lines) > 10000 and not any("\t" in line for line in lines), "the stripped copy has the kernel's alone")
    chosen = text("kallsyms-default.err").strip()
    check(chosen.startswith("perfvigil: ") and "text sections" in chosen, f"the default says why: {chosen}")
    check(text("kallsyms-name.status").strip() == "1" and "another name" in text("kallsyms-name.err"),
          "a copy called kallsyms is refused")


def judge_code():
    for name, wanted in (("annotate-module", "sub"), ("annotate-kernel", "mov")):
        found = text(f"{name}.txt")
        check("/proc/kcore" in found and wanted in found, f"{name}: instructions from /proc/kcore")
        if wanted not in found:
            print(found[:1500])


def judge_bpf():
    if text("bpf.status").strip() == "77":
        print("skip  BPF programs are not compiled here")
        return
    for name in ("bpf.live", "bpf"):
        counts = functions(load(f"{name}.json", KEYS))
        for program in ("pv_first", "pv_second"):
            samples = sum(n for (dso, symbol), n in counts.items()
                          if dso == "[bpf]" and symbol and symbol.endswith(program))
            check(samples > 200, f"{name}: {samples} samples in {program}, unloaded before it was named")


def judge_hidden():
    report = load("hidden.json", KEYS)
    hidden = [d for d in report["degraded"] if d["reason"] == "no_kernel_symbols"]
    check(bool(hidden) and "kptr_restrict is 2" in hidden[0]["detail"] and
          "perf_event_paranoid is 3" in hidden[0]["detail"] and "kptr_restrict to 1" in hidden[0]["remedy"],
          f"hidden addresses are explained: {hidden}")
    check("kptr_restrict" in text("hidden-kallsyms.err"), "perfvigil kallsyms says why there is nothing to copy")


def judge_hotplug():
    for program, tests in (("test_kernel", 2), ("test_e2e", 1)):
        words, status = text(f"hotplug-{program}.txt"), text(f"hotplug-{program}.status").strip()
        passed = f"[  PASSED  ] {tests} test" in words and "SKIPPED" not in words
        check(status == "0" and passed, f"{program}: a CPU goes and comes back, {tests} tests")
        if not passed:
            print(words[-3000:])


for part in (judge_load, judge_inlined, judge_late, judge_copies, judge_code, judge_bpf, judge_hotplug, judge_hidden):
    part()
print(f"{len(faults)} faults")
sys.exit(1 if faults else 0)
