#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What every source file must have (a licence line) and no file may have (a developer's paths, unfinished work)."""

import re

import tree

LICENCE = "SPDX-License-Identifier: GPL-2.0-or-later"
LICENSED = tree.CODE | {".py", ".sh", ".cmake", ".ts", ".mjs", ".css"}
LICENSED_NAMES = {"CMakeLists.txt", "dev", "run"}
# Foreign data, kept byte for byte.
DATA = ("tests/fixtures/", "tests/golden/", "tests/fuzz/corpus/", "LICENSE")
# The checks and their self-tests must spell what they forbid.
SELF = "tests/lint/"
MACHINE_PATH = re.compile(r"(?<![\w.})>*-])(?:/work/(?:main|shared)|/root/\.|/home/\w+/|/tmp/build-|/tmp/brief)")
UNFINISHED = re.compile(r"\b(?:TODO|FIXME|XXX|HACK)\b")


def check(root):
    faults = []
    for path in tree.files(root):
        if str(path).startswith(DATA):
            continue
        data = (root / path).read_bytes()
        if b"\0" in data:
            continue
        lines = data.decode(errors="replace").splitlines()
        if path.suffix in LICENSED or path.name in LICENSED_NAMES:
            first = lines[1:2] if lines and lines[0].startswith("#!") else lines[:1]
            if not first or LICENCE not in first[0]:
                faults.append(f"{path}:1: the first line must say '{LICENCE}'")
        if str(path).startswith(SELF):
            continue
        for number, line in enumerate(lines, 1):
            if match := MACHINE_PATH.search(line):
                faults.append(f"{path}:{number}: '{match.group()}' is a path of one machine")
            if path.suffix in LICENSED and (match := UNFINISHED.search(line)):
                faults.append(f"{path}:{number}: '{match.group()}' marks unfinished work; finish it or file it")
    return faults


def self_test(faults_of):
    ok = f"// {LICENCE}\n"
    cases = [  # file, its text, the fault's words (None: allowed)
        ("base/a.cpp", ok, None),
        ("base/a.cpp", "", "first line must say"),
        ("base/a.hpp", "#pragma once\n" + ok, "first line must say"),
        ("dev", f"#!/bin/bash\n# {LICENCE}\n", None),
        ("dev", "#!/bin/bash\necho\n", "first line must say"),
        ("README.md", "no licence line needed\n", None),
        ("README.md", "see /" + "work/shared/x\n", "path of one machine"),
        ("base/a.cpp", ok + 'open("/root/.cache/x");\n', "path of one machine"),
        ("base/a.cpp", ok + 'open("/home/joe/x");\n', "path of one machine"),
        ("base/a.cpp", ok + "// reads /proc/PID/root/etc and /root in it\n", None),
        ("base/a.cpp", ok + "// FIXME later\n", "unfinished work"),
        ("tests/fixtures/a.txt", "/home/joe/a.out\n", None),
        ("tests/golden/a.cpp", "foreign\n", None),
        ("blob.bin", "\0/home/joe/", None),
    ]
    for path, text, words in cases:
        tree.expect(faults_of({path: text}), words, f"{path}: {text!r}")


if __name__ == "__main__":
    tree.main(check, self_test)
