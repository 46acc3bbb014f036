#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Every reason of a degraded mode that the code can give stands in the table of docs/install.md, once, and nothing else
does."""

import re

import tree

DOCS = "docs/install.md"
HEADING = "## What each degraded reason means"
FOLDERS = ("base/", "collector/", "analyzer/", "config/", "daemon/", "cli/")
LITERAL = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
# `x.reason = …;` and `.reason = …,`: whatever words stand in it.
ASSIGNED = re.compile(r"\breason = ([^;,{}]*)[;,}]")
# The first of Degraded's three members; what follows tells whether it is one.
OPENED = re.compile(r'\{\s*"([a-z]+(?:_[a-z]+)*)",')


def members(text, start):
    """The members of the braces that open at `start`, or none when they never close."""
    depth, parts, part, at = 0, [], "", start
    while at < len(text):
        literal = LITERAL.match(text, at)
        if literal:
            part, at = part + literal[0], literal.end()
            continue
        char = text[at]
        depth += (char in "({[") - (char in ")}]")
        if depth == 0:
            return [*parts, part]
        if depth == 1 and char == ",":
            parts, part = [*parts, part], ""
        elif (depth, char) != (1, "{"):
            part += char
        at += 1
    return []


def reasons_of(text):
    """{reason: line} of one file that speaks of degraded modes."""
    found = {}

    def add(reason, at):
        found.setdefault(reason, text.count("\n", 0, at) + 1)

    for match in ASSIGNED.finditer(text):
        for reason in re.findall(r'"([a-z]+(?:_[a-z]+)*)"', match[1]):
            add(reason, match.start())
    for match in OPENED.finditer(text):
        parts = members(text, match.start())
        # Reason, detail, remedy; the detail is a sentence.
        if len(parts) == 3 and (re.search(r'"[^"]* [^"]*"', parts[1]) or "format(" in parts[1]):
            add(match[1], match.start())
    return found


def in_code(root):
    """{reason: where it is given first}."""
    found = {}
    for path in tree.files(root):
        name = path.as_posix()
        if path.suffix not in tree.CODE or not name.startswith(FOLDERS):
            continue
        text = (root / path).read_text()
        if re.search("degraded|Finding", text, re.I):
            for reason, line in reasons_of(text).items():
                found.setdefault(reason, f"{name}:{line}")
    return found


def in_docs(root):
    section = (root / DOCS).read_text().partition(HEADING)[2].partition("\n## ")[0]
    rows = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]
    return [reason for row in rows for reason in re.findall(r"`(\w+)`", row)]


def check(root):
    code, docs = in_code(root), in_docs(root)
    faults = [f"{where}: {reason} is not explained in {DOCS}" for reason, where in code.items() if reason not in docs]
    faults += [f"{DOCS}: no code gives {reason}" for reason in docs if reason not in code]
    faults += [f"{DOCS}: {reason} is explained twice" for reason in sorted(set(docs)) if docs.count(reason) > 1]
    return faults


def self_test(faults_of):
    docs = f"{HEADING}\n\n| reason | what |\n|---|---|\n| `no_pmu`, `old` | x |\n\n## Next\n\n| `other` | x |\n"
    code = 'Degraded d{"no_pmu", fmt::format("a, {}", f(1, "}")), "Do b."};\nmade.reason = "old";\n'

    def tree_with(more, text=docs):
        return {DOCS: text, "collector/a.cpp": code + more}

    cases = [  # more code, the docs, the fault's words (None: allowed)
        ("", docs, None),
        ('made.reason = hidden ? "no_pmu" : "no_names";', docs, "collector/a.cpp:3: no_names is not explained"),
        ('return {\n    "small_rings", "say, so", ""};', docs, "small_rings is not explained"),
        ('all.push_back({.reason = "no_child", .detail = x});', docs, "no_child is not explained"),
        ('table = {"kind", "captures", 3}; pair = {"a", "b"}; board.set("session", {x});', docs, None),
        ('if (one.reason == "event_silent") return;', docs, None),
        ('constexpr std::array kNames{"loss", "budget", "calm"};', docs, None),
        ("", docs.replace("`old`", "`old`, `older`"), "no code gives older"),
        ("", docs.replace("| `no_pmu`", "| `old` | x |\n| `no_pmu`"), "old is explained twice"),
    ]
    for more, text, words in cases:
        tree.expect(faults_of(tree_with(more, text)), words, more or text)


if __name__ == "__main__":
    tree.main(check, self_test)
