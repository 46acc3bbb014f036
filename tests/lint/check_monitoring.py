#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Prometheus rules and Grafana dashboards: only series and labels that docs/metrics.md tells (a test of the daemon holds
it against what is published), each panel and alert explained, each data source a variable."""

import json
import re

import tree

RULES = "packaging/prometheus/perfvigil.rules.yaml"
DASHBOARDS = "packaging/grafana/*.json"
SCRAPED = {"job", "instance"}  # labels that Prometheus adds
SERIES = re.compile(r"(?<![\w:$\"])((?:perfvigil|process)_\w+)(?:\s*\{([^}]*)\})?")
RECORDED = re.compile(r"\b(?:instance|instance_function|job):perfvigil_[\w:]+")
MATCHER = re.compile(r"(\w+)\s*(?:=~|!~|!=|=)\s*\"")


def documented(root):
    """{series: its labels} of docs/metrics.md."""
    rows = re.findall(r"^\| `(\w+)(?:\{([\w,]*)\})?` \|", (root / "docs/metrics.md").read_text(), re.M)
    return {name: set(filter(None, labels.split(","))) for name, labels in rows}


def faults_of_expression(expression, known, recorded):
    for name in RECORDED.findall(expression):
        if name not in recorded:
            yield f"{name} is recorded nowhere"
    for name, matchers in SERIES.findall(RECORDED.sub("", expression)):
        if name not in known:
            yield f"{name} is not in docs/metrics.md"
            continue
        for label in MATCHER.findall(matchers):
            if label not in known[name] | SCRAPED:
                yield f"{name} has no label {label}"


def check_rules(root, known):
    text = (root / RULES).read_text()
    recorded = set(re.findall(r"- record: (\S+)", text))
    # Without a YAML parser: expressions are what stands between "expr:" and the next key of its rule.
    for block in re.split(r"\n\s+- (?=record:|alert:)", text)[1:]:
        name = block.split("\n", 1)[0].split(": ")[1]
        expression = re.search(r"expr:(.*?)(?=\n\s+(?:for|labels|annotations):|\n\n|\Z)", block, re.S)
        for fault in faults_of_expression(expression[1] if expression else "", known, recorded):
            yield f"{RULES}: {name}: {fault}"
        if block.startswith("alert:"):
            for key in ("summary:", "description:", "severity:"):
                if key not in block:
                    yield f"{RULES}: {name}: {key[:-1]} is missing"


def check_dashboard(path, board, known):
    variables = {variable["name"] for variable in board["templating"]["list"]}
    if "datasource" not in variables:
        yield f"{path}: there is no variable datasource"
    for panel in board["panels"]:
        about = f"{path}: panel '{panel['title']}'"
        if not panel.get("description"):
            yield f"{about}: no description"
        for one in [panel, *panel["targets"]]:
            if one["datasource"]["uid"] != "${datasource}":
                yield f"{about}: its data source is no variable"
        for target in panel["targets"]:
            for fault in faults_of_expression(target["expr"], known, set()):
                yield f"{about}: {fault}"
            for name in re.findall(r"\$(?!__)\{?(\w+)", target["expr"]):
                if name not in variables:
                    yield f"{about}: there is no variable {name}"


def check(root):
    known = documented(root)
    faults = list(check_rules(root, known))
    uids = set()
    for path in sorted(root.glob(DASHBOARDS)):
        board = json.loads(path.read_text())
        faults += check_dashboard(path.relative_to(root), board, known)
        if board["uid"] in uids:
            faults.append(f"{path.relative_to(root)}: another dashboard has its uid")
        uids.add(board["uid"])
    return faults


def self_test(faults_of):
    board = "packaging/grafana/perfvigil-host.json"
    ours = {path: (tree.ROOT / path).read_text() for path in (RULES, board, "docs/metrics.md")}

    def changed(path, old, new):
        assert old in ours[path], f"{path} holds no {old!r}"
        return {**ours, path: ours[path].replace(old, new, 1)}

    cases = [  # file, text, what stands there instead, the fault's words (None: allowed)
        (RULES, "perfvigil_busy_cpus", "perfvigil_busy_cpus", None),
        (RULES, "perfvigil_budget_ratio", "perfvigil_budgets_ratio", "perfvigil_budgets_ratio is not in"),
        (RULES, "perfvigil_degraded{reason!", "perfvigil_degraded{why!", "perfvigil_degraded has no label why"),
        (RULES, "expr: instance:perfvigil_lost_samples:ratio_rate5m", "expr: instance:perfvigil_lost:ratio_rate5m",
         "is recorded nowhere"),
        (RULES, "summary: perfvigild on {{ $labels.instance }} closes", "note: ", "summary is missing"),
        (board, "perfvigil_cpu_busy_ratio{", "perfvigil_busy_ratio{", "perfvigil_busy_ratio is not in"),
        (board, '"uid": "${datasource}"\n   },\n   "gridPos"', '"uid": "x"\n   },\n   "gridPos"', "no variable"),
        (board, '"description": "Share of each slice', '"descriptions": "Share of each slice', "no description"),
        (board, '$instance\\"}"', '$host\\"}"', "no variable host"),
    ]
    for path, old, new, words in cases:
        tree.expect(faults_of(changed(path, old, new)), words, f"{path}: {new!r}")


if __name__ == "__main__":
    tree.main(check, self_test)
