#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The Grafana dashboards as pictures for the docs: real daemons under a load that changes, a real Prometheus, each panel's
query answered by it and drawn by gnuplot where the panel stands.

usage: dashboards.py BUILD OUT [SECONDS]
"""

import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.parse

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path.insert(0, str(SOURCE / "tests/packaging"))
import check_dashboards as monitored  # noqa: E402

WIDTH, ROW = 1040, 25  # pixels: of a board, of one of Grafana's rows
STEP = 2
COLORS = ["#3b7dd8", "#e08a2e", "#4caf6d", "#d4574e", "#8e6cc9", "#8c6d5b", "#d77fb5", "#7f7f7f", "#b5b33c", "#38b3c4",
          "#a9c7f0", "#f5c99a", "#a9dcb9", "#f0a9a4", "#cbbbe6"]
# By unit; each runs for a fifth of the time, beside a little of everything that the host does anyway.
LOADS = {"backup.service": ["xz", "-9", "-T1", "-c"], "archive.service": ["gzip", "-9", "-c"],
         "verify.service": ["sha256sum"], "queue.service": ["stress-ng", "--pipe", "1", "-q"],
         "database.service": ["stress-ng", "--hdd", "1", "--hdd-bytes", "64M", "-q"]}


def value_of(unit, value):
    """(number, gnuplot format) of a value in a panel's unit."""
    if unit == "percentunit":
        return 100 * value, "%g %%"
    return value, {"bytes": "%.0b %BB", "hertz": "%.0s %cHz", "s": "%.1s %cs"}.get(unit, "%g")


def shown(unit, value):
    number, _ = value_of(unit, value)
    return f"{number:.3g}{' %' if unit == 'percentunit' else ''}"


def named(legend, labels):
    text = re.sub(r"{{(\w+)}}", lambda match: labels.get(match[1], ""), legend or "") or ", ".join(labels.values())
    return text if len(text) <= 44 else text[:43] + "…"


def quoted(text):
    return "'" + text.replace("'", "''") + "'"


class Answers:
    """What Prometheus says to a panel's targets."""

    def __init__(self, prometheus, seconds, instance):
        self.prometheus, self.seconds, self.instance = prometheus, seconds, instance
        self.end = time.time()

    def _get(self, path, **query):
        answer = monitored.get(f"{self.prometheus}/api/v1/{path}?" + urllib.parse.urlencode(query))
        return json.loads(answer)["data"]["result"]

    def now(self, panel):
        """[(name, value, labels)], the greatest first."""
        rows = []
        for target in panel["targets"]:
            expression = monitored.filled(target["expr"], self.instance)
            rows += [(named(target.get("legendFormat"), row["metric"]), float(row["value"][1]), row["metric"])
                     for row in self._get("query", query=expression, time=self.end)]
        return sorted(rows, key=lambda row: -row[1])

    def over_time(self, panel):
        """[(name, {time: value})], the greatest first."""
        series = []
        for target in panel["targets"]:
            expression = monitored.filled(target["expr"], self.instance)
            for row in self._get("query_range", query=expression, start=self.end - self.seconds, end=self.end, step=STEP):
                points = {round(at - self.end): float(value) for at, value in row["values"] if value not in ("NaN", "+Inf")}
                if points:
                    series.append((named(target.get("legendFormat"), row["metric"]), points))
        return sorted(series, key=lambda one: -sum(one[1].values()))


def draw_text(text, size=26):
    return [f"set label 1 {quoted(text)} at graph 0.5,0.5 center font ',{size}'",
            "unset border; unset xtics; unset ytics; unset key", "plot [0:1][0:1] NaN"]


def draw_bars(panel, rows):
    unit = panel["fieldConfig"]["defaults"].get("unit")
    rows = rows[:20]
    most = max(value for _, value, _ in rows) or 1
    lines = ["unset border; unset xtics; unset ytics; unset key", "$bars << EOD"]
    lines += [f"{i} {value}" for i, (_, value, _) in enumerate(rows)]
    lines.append("EOD")
    for i, (name, value, _) in enumerate(rows):
        lines.append(f"set label {quoted(f'{name}   {shown(unit, value)}')} at {most * 0.01},{i} left front font ',9'")
    lines += [f"set yrange [{max(len(rows), 4) - 0.4}:-0.6]; set xrange [0:{most * 1.05}]; set style fill solid 0.45 noborder",
              f"plot $bars using ($2/2):1:($2/2):(0.38) with boxxyerror lc rgb '{COLORS[0]}'"]
    return lines


def draw_table(rows):
    columns = [label for label in ("unit", "program", "version", "instance") if any(row[2].get(label) for row in rows)]
    lines = ["unset border; unset xtics; unset ytics; unset key"]
    for y, cells in enumerate([columns, *([row[2].get(label, "") for label in columns] for row in rows[:9])]):
        for x, cell in enumerate(cells):
            lines.append(f"set label {quoted(cell[:26])} at graph {x / len(columns)},{0.97 - y / 10} left font ',9'")
    return [*lines, "plot [0:1][0:1] NaN"]


def draw_series(panel, series, seconds):
    defaults = panel["fieldConfig"]["defaults"]
    unit, stacked = defaults.get("unit"), defaults["custom"]["stacking"]["mode"] == "normal"
    if "max" in defaults:
        high = value_of(unit, defaults["max"])[0]
    else:
        sums = {at: sum(points.get(at, 0) for _, points in series) for _, points in series for at in points}
        most = max(sums.values() if stacked else (value for _, points in series for value in points.values()))
        high = value_of(unit, most * 1.08 if most > 0 else 1)[0]
    lines = [f"set xrange [{-seconds}:0]; set yrange [0:{high}]; set format y {quoted(value_of(unit, 0)[1])}",
             "set format x \"%g s\"; set grid lc rgb '#dddddd'; set border 3 lc rgb '#888888'; set tics nomirror font ',8'",
             f"set key below horizontal Left reverse samplen 1 spacing 0.9 font ',8' maxrows {3 if len(series) > 3 else 1}"]
    times = sorted({at for _, points in series for at in points})
    below, plots = dict.fromkeys(times, 0.0), []
    for i, (name, points) in enumerate(series):
        color = COLORS[i % len(COLORS)]
        lines.append(f"$d{i} << EOD")
        for at in times:
            if not stacked and at not in points:
                continue
            value = value_of(unit, points.get(at, 0.0))[0]
            lines.append(f"{at} {below[at]} {below[at] + value}")
            if stacked:
                below[at] += value
        lines.append("EOD")
        title = f"title {quoted(name)}" if i < 9 else "notitle"
        if stacked:
            plots.append(f"$d{i} using 1:2:3 with filledcurves lc rgb '{color}' fs transparent solid 0.45 {title}")
        else:
            plots.append(f"$d{i} using 1:3 with lines lw 1.6 lc rgb '{color}' {title}")
    return [*lines, "plot " + ", ".join(plots)]


def draw_panel(panel, answers):
    if panel["type"] == "timeseries":
        series = answers.over_time(panel)
        return draw_series(panel, series, answers.seconds) if series else draw_text("no data on this host", 11)
    rows = answers.now(panel)
    if not rows:
        return draw_text("no data on this host", 11)
    if panel["type"] == "stat":
        return draw_text(shown(panel["fieldConfig"]["defaults"].get("unit"), rows[0][1]))
    return draw_table(rows) if panel["type"] == "table" else draw_bars(panel, rows)


def draw_board(board, answers, out):
    rows = max(panel["gridPos"]["y"] + panel["gridPos"]["h"] for panel in board["panels"])
    height = rows * ROW
    script = [f"set terminal pngcairo size {WIDTH},{height} noenhanced font 'sans,9'", f"set output {quoted(str(out))}",
              "set multiplot"]
    for panel in board["panels"]:
        at = panel["gridPos"]
        script += ["reset", f"set size {at['w'] / 24},{at['h'] / rows}",
                   f"set origin {at['x'] / 24},{1 - (at['y'] + at['h']) / rows}",
                   f"set title {quoted(panel['title'])} font ',10' offset 0,-0.4", *draw_panel(panel, answers)]
    ran = subprocess.run(["gnuplot"], input="\n".join(script), text=True, capture_output=True, check=False)
    if ran.returncode != 0:
        raise SystemExit(f"dashboards.py: gnuplot on {out.name}: {ran.stderr.strip()[-1000:]}")
    subprocess.run(["pngquant", "--force", "--output", out, "64", out], check=True)
    print(f"{out} ({out.stat().st_size >> 10} KiB)")


class Units:
    """Control groups that look like units of systemd; none where there is no cgroup2."""

    def __init__(self):
        mounts = re.findall(r"^\S+ (\S+) cgroup2 ", pathlib.Path("/proc/mounts").read_text(), re.M)
        self.slice = pathlib.Path(mounts[0]) / "pictures.slice" if mounts else None

    def join(self, unit):
        """What a shell runs to become a task of it."""
        if self.slice is None:
            return ":"
        (self.slice / unit).mkdir(parents=True, exist_ok=True)
        return f"echo $$ >{self.slice / unit}/cgroup.procs"

    def remove(self):
        for folder in [*self.slice.glob("*.service"), self.slice] if self.slice and self.slice.exists() else []:
            # What a load leaves behind may take a moment to end; an empty group costs nothing.
            with contextlib.suppress(OSError):
                folder.rmdir()


def make_load(seconds):
    """One load after the other, fed with what is at hand where it reads."""
    food = max(pathlib.Path("/usr/lib").rglob("*.so*"), key=lambda path: path.stat().st_size if path.is_file() else 0)
    units = Units()
    try:
        for unit, load in LOADS.items():
            end = time.monotonic() + seconds / len(LOADS)
            while time.monotonic() < end:
                run_load(f'{units.join(unit)}; exec "$@"', load, food, end)
    finally:
        units.remove()


def run_load(script, load, food, end):
    with open(food, "rb") as stream:
        one = subprocess.Popen(["sh", "-c", script, "sh", *load], stdin=stream, stdout=subprocess.DEVNULL)
        try:
            one.wait(max(0.1, end - time.monotonic()))
        except subprocess.TimeoutExpired:
            one.terminate()
            one.wait(10)


def main():
    build, out = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    seconds = int(sys.argv[3]) if len(sys.argv) > 3 else 300
    prometheus = monitored.prometheus_program()
    missing = [tool for tool in ("gnuplot", "pngquant", "stress-ng") if not shutil.which(tool)]
    if not prometheus or missing or os.geteuid() != 0:
        raise SystemExit(f"dashboards.py: needs root, prometheus and {' '.join(missing)}: ./dev pictures")
    with tempfile.TemporaryDirectory(prefix="perfvigil-pictures-") as name:
        with monitored.Hosts(build / "perfvigild", prometheus, pathlib.Path(name), ["web-1", "web-2"]) as hosts:
            make_load(seconds)
            for path in sorted((SOURCE / "packaging/grafana").glob("*.json")):
                board = json.loads(path.read_text())
                # A board of one host shows one.
                instance = ".*" if path.stem in ("perfvigil-fleet", "perfvigil-health") else "web-1"
                draw_board(board, Answers(hosts.prometheus, seconds - 10, instance), out / f"{path.stem}.png")


if __name__ == "__main__":
    main()
