#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Closing summary of ./dev test: counts per label, reasons of skips; exit 1 when a label counts as failed.

usage: summarize.py RESULTS   (RESULTS holds LABEL.xml, JUnit by ctest, and LABEL.fail, a sentence, where the run broke)
"""

import collections
import ctypes
import os
import pathlib
import re
import struct
import sys
import tempfile
import xml.etree.ElementTree as ElementTree

Counts = collections.namedtuple("Counts", "passed failed skipped reasons")
NEEDS_PERF = {"kernel", "e2e"}
NEEDS_QEMU = {"service", "vm"}


def can_open_perf_events():
    """Whether this process may sample CPU 0 (perf_event_open(2), cpu-clock)."""
    libc = ctypes.CDLL(None, use_errno=True)
    number = {"x86_64": 298, "aarch64": 241}.get(os.uname().machine)
    if number is None:
        return False
    # type SOFTWARE, size 64 (PERF_ATTR_SIZE_VER0), config CPU_CLOCK, sample_period, sample_type, read_format, disabled
    attr = struct.pack("=IIQQQQQ", 1, 64, 0, 10_000_000, 1, 0, 1).ljust(64, b"\0")
    fd = libc.syscall(number, attr, -1, 0, -1, 0)
    if fd >= 0:
        os.close(fd)
    return fd >= 0


def can_run(label):
    if label in NEEDS_PERF:
        return can_open_perf_events()
    if label in NEEDS_QEMU:
        return any(pathlib.Path(p).exists() for p in ("/usr/bin/qemu-system-x86_64", "/usr/bin/qemu-system-aarch64"))
    return True


def skip_reason(output):
    """The sentence after gtest's 'file:line: Skipped', or our scripts' 'Skipped: ...'."""
    if match := re.search(r"^Skipped: (.+)$", output, re.M):
        return match.group(1).strip()
    if match := re.search(r": Skipped\n(.*?)(?:\n\s*\n|\n?\[  SKIPPED)", output + "\n\n", re.S):
        return " ".join(match.group(1).split()) or "no reason given"
    return "no reason given"


def read_results(path):
    passed = failed = skipped = 0
    reasons = collections.defaultdict(list)
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        status = case.get("status")
        if case.find("skipped") is not None:
            if status == "disabled":
                reason = "disabled"
            else:
                reason = skip_reason(case.findtext("system-out") or "")
            reasons[reason].append(case.get("name"))
            skipped += 1
        elif status == "run":
            passed += 1
        else:
            failed += 1
    return Counts(passed, failed, skipped, reasons)


def words_of_vm():
    """What ./dev vm knows: the scripts of packaging/vm, but for those that make machines."""
    scripts = sorted(path.stem for path in pathlib.Path("packaging/vm").glob("*.sh"))
    return [name for name in scripts if name != "image" and not name.startswith("make_")]


def words_tested():
    """Those of them that tests run, with the tests' label: that of their folder."""
    return {path.name.removesuffix("_test.cpp"): label
            for label in sorted(NEEDS_QEMU) for path in pathlib.Path("tests", label).glob("*_test.cpp")}


def not_run(labels, words, tested):
    """One line for what has work here and was left out of this run."""
    lines = []
    left_out = [word for word in words if word in tested and tested[word] not in labels]
    if left_out:
        checks = " and ".join(f"./dev vm {word}" for word in left_out)
        lines.append(f"NOT RUN: the checks in virtual machines, {checks} (./dev test --long runs them too)")
    alone = " and ".join(f"./dev vm {word}" for word in words if word not in tested)
    if alone:
        lines.append(f"NOT RUN: {alone} (only by hand)")
    return lines


def summarize(results, can_run=can_run):
    """(lines to print, whether all is well)."""
    lines, faults = [], []
    total = Counts(0, 0, 0, None)
    labels = sorted({p.stem for p in results.iterdir() if p.suffix in (".xml", ".fail")})
    for label in labels:
        broken = results / f"{label}.fail"
        if broken.exists():
            faults.append(f"label {label}: {broken.read_text().strip()}")
        xml = results / f"{label}.xml"
        if not xml.exists():
            continue
        counts = read_results(xml)
        if not sum(counts[:3]):
            faults.append(f"label {label}: no tests")
            continue
        total = Counts(*(a + b for a, b in zip(total[:3], counts[:3])), None)
        lines.append(f"{label:8} {counts.passed} passed, {counts.failed} failed, {counts.skipped} skipped")
        for reason, names in sorted(counts.reasons.items()):
            more = f" and {len(names) - 1} more" if len(names) > 1 else ""
            lines.append(f"         skipped: {names[0]}{more}: {reason}")
        if counts.failed:
            faults.append(f"label {label}: {counts.failed} tests failed")
        if counts.skipped and not counts.passed and not counts.failed and can_run(label):
            faults.append(f"label {label}: every test was skipped, although this machine can run them")
    if not labels:
        faults.append("no label was run")
    lines += [f"FAILED: {fault}" for fault in faults]
    # A label that broke without a failed test still is a failure to whoever reads the counts alone.
    failed = total.failed or len(faults)
    lines.append(f"{total.passed} passed, {failed} failed, {total.skipped} skipped")
    return lines, not faults


def self_test():
    def xml(*cases):
        return "<testsuite>" + "".join(cases) + "</testsuite>"

    ok = '<testcase name="a" status="run"><system-out/></testcase>'
    bad = '<testcase name="b" status="fail"><failure message=""/><system-out/></testcase>'
    skip = ('<testcase name="c" status="notrun"><skipped message="SKIP_REGULAR_EXPRESSION_MATCHED"/><system-out>'
            "[ RUN      ] A.c\nx_test.cpp:9: Skipped\nneeds a PMU,\n  which is absent\n\n[  SKIPPED ] A.c</system-out></testcase>")
    terse = skip.replace("absent\n\n[", "absent\n[").replace('name="c"', 'name="e"')
    shell = '<testcase name="d" status="notrun"><skipped/><system-out>Skipped: no tool</system-out></testcase>'
    able, unable = (lambda _: True), (lambda _: False)
    cases = [  # files, can_run, well, words in the output
        ({"unit.xml": xml(ok)}, able, True, "1 passed, 0 failed, 0 skipped"),
        ({"unit.xml": xml(ok, bad)}, able, False, "label unit: 1 tests failed"),
        ({"unit.xml": xml(ok, skip)}, able, True, "skipped: c: needs a PMU, which is absent"),
        ({"unit.xml": xml(ok, terse)}, able, True, "skipped: e: needs a PMU, which is absent\n"),
        ({"unit.xml": xml(ok, shell)}, able, True, "skipped: d: no tool"),
        ({"kernel.xml": xml(skip, skip)}, able, False, "every test was skipped"),
        ({"kernel.xml": xml(skip, skip)}, unable, True, "skipped: c and 1 more"),
        ({"unit.xml": xml(ok), "e2e.fail": "over its budget of 3 minutes"}, able, False,
         "FAILED: label e2e: over its budget of 3 minutes"),
        ({"unit.xml": xml(ok), "golden.xml": xml()}, able, False, "label golden: no tests"),
        ({}, able, False, "no label was run"),
    ]
    for files, able_to, well, words in cases:
        with tempfile.TemporaryDirectory() as folder:
            for name, text in files.items():
                (pathlib.Path(folder) / name).write_text(text)
            lines, got = summarize(pathlib.Path(folder), able_to)
            assert got == well and words in "\n".join(lines) + "\n", (files, lines)
            assert (" 0 failed," in lines[-1]) == well, lines[-1]
    assert not_run({"unit", "vm"}, ["pmu"], {"pmu": "vm"}) == not_run({"unit"}, [], {"pmu": "vm"}) == []
    line, = not_run({"unit", "service"}, ["pmu", "service", "symbols"], {"pmu": "vm", "symbols": "vm", "service": "service"})
    assert line.startswith("NOT RUN") and "./dev vm pmu and ./dev vm symbols" in line, line
    line, = not_run({"vm"}, ["pmu", "unit"], {"pmu": "vm"})
    assert line == "NOT RUN: ./dev vm unit (only by hand)", line
    assert words_tested().keys() <= set(words_of_vm()), words_tested()
    assert "symbols" in words_of_vm() and not any(word.startswith(("make", "image")) for word in words_of_vm())
    print("summarize.py: self-test passed")


if __name__ == "__main__":
    if sys.argv[1:] == ["--self-test"]:
        self_test()
    else:
        folder = pathlib.Path(sys.argv[1])
        output, well = summarize(folder)
        output[-1:-1] = not_run({path.stem for path in folder.iterdir()}, words_of_vm(), words_tested())
        print("\n".join(output))
        sys.exit(0 if well else 1)
