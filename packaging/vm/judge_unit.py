#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Judges what packaging/vm/guest/unit left behind: usage judge_unit.py FOLDER PROGRAM..."""
import pathlib
import sys
import xml.etree.ElementTree as ElementTree

folder = pathlib.Path(sys.argv[1])
faults = 0


def fault(sentence):
    global faults
    faults += 1
    print("FAULT " + sentence)


def text(name):
    path = folder / name
    return path.read_text(errors="replace").strip() if path.exists() else ""


for program in sys.argv[2:]:
    status = text(f"{program}.status")
    try:
        cases = list(ElementTree.parse(folder / f"{program}.xml").getroot().iter("testcase"))
    except (OSError, ElementTree.ParseError) as error:
        fault(f"{program} ended with status {status or 'none'} and left no report: {error}\n{text(program + '.txt')[-2000:]}")
        continue
    failed = [case for case in cases if case.find("failure") is not None]
    skipped = [case for case in cases if case.get("result") == "skipped"]
    for case in failed:
        fault(f"{program} {case.get('classname')}.{case.get('name')}: {case.find('failure').get('message')[:1500]}")
    for case in skipped:
        reason = case.find("skipped")
        words = " ".join((reason.get("message") or "").split()[-30:]) if reason is not None else ""
        print(f"skip  {program} {case.get('classname')}.{case.get('name')}: {words}")
    if status != "0" and not failed:
        fault(f"{program} ended with status {status}, expected 0")
    if len(cases) == len(skipped):
        fault(f"{program} ran none of its {len(cases)} tests, expected some")
    print(f"      {program}: {len(cases) - len(failed) - len(skipped)} passed, {len(failed)} failed, {len(skipped)} skipped")
print(f"{faults} faults")
sys.exit(1 if faults else 0)
