#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Every query of every panel, answered by a real Prometheus that scraped two real daemons on loopback.

usage: check_dashboards.py SOURCE PERFVIGILD

A panel must get data, unless all series that it names are absent from what the daemons publish and OPTIONAL says why
that may be.
"""

import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request

OPTIONAL = {
    "perfvigil_cpu_effective_hertz": "no PMU, or no CPU busy enough",
    "perfvigil_function_cycles_total": "no PMU",
    "perfvigil_unit_throttled_seconds_total": "no unit with a limit",
    "perfvigil_cpu_run_delay_seconds_total": "a kernel without /proc/schedstat",
    "perfvigil_recording_steps_total": "nothing had to change",
    "perfvigil_degraded": "nothing is missing",
    "perfvigil_unit_build_info": "no systemd units",
}
# Of functions that need not run here.
CONDITIONAL = {"Mitigations and hardening"}
SCRAPES = 25


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def get(url):
    with urllib.request.urlopen(url, timeout=10) as answer:
        return answer.read().decode()


def wait_for(url, seconds):
    limit = time.monotonic() + seconds
    while True:
        try:
            return get(url)
        except OSError:
            if time.monotonic() > limit:
                raise SystemExit(f"{url} does not answer")
            time.sleep(0.3)


def start_daemon(program, folder, port):
    folder.mkdir()
    (folder / "perfvigil.yaml").write_text(
        f"recording: {{slice: 1s}}\nanalysis: {{window: 5s, spread: 0s}}\nlisten: {{address: '127.0.0.1:{port}'}}\n"
        f"sockets: {{control: {folder}/control.sock}}\nstore: {{dir: {folder}/profiles}}\n"
        f"captures: {{dir: {folder}/captures}}\n")
    return subprocess.Popen([program, "--config", folder / "perfvigil.yaml"], stderr=open(folder / "log", "w"))


def start_prometheus(program, folder, port, targets):
    """Scrapes {instance: port}."""
    (folder / "prometheus.yml").write_text(
        "global: {scrape_interval: 1s, evaluation_interval: 5s}\n"
        "scrape_configs:\n  - job_name: perfvigil\n    static_configs:\n" +
        "".join(f"      - {{targets: ['127.0.0.1:{target}'], labels: {{instance: {instance}}}}}\n"
                for instance, target in targets.items()))
    return subprocess.Popen([program, f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/tsdb",
                             f"--web.listen-address=127.0.0.1:{port}"], stderr=open(folder / "prometheus.log", "w"))


def prometheus_program():
    cached = pathlib.Path.home() / ".cache/perfvigil/bin/prometheus"
    return shutil.which("prometheus") or (str(cached) if cached.exists() else None)


class Hosts:
    """Daemons of this host under several names, and a Prometheus that scrapes them; all ready, until the end."""

    def __init__(self, perfvigild, program, folder, names):
        self.perfvigild, self.program, self.folder, self.names = perfvigild, program, folder, names
        self.running = []

    def __enter__(self):
        self.ports = {name: free_port() for name in self.names}
        port = free_port()
        self.prometheus = f"http://127.0.0.1:{port}"
        try:
            for name, one in self.ports.items():
                self.running.append(start_daemon(self.perfvigild, self.folder / name, one))
            for one in self.ports.values():
                wait_for(f"http://127.0.0.1:{one}/readyz", 60)
            self.running.append(start_prometheus(self.program, self.folder, port, self.ports))
            wait_for(f"{self.prometheus}/-/ready", 60)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for one in self.running:
            one.send_signal(signal.SIGTERM)
        for one in self.running:
            one.wait(30)

    def published(self):
        """Names of all series that the daemons have now."""
        pages = (get(f"http://127.0.0.1:{port}/metrics") for port in self.ports.values())
        return set(re.findall(r"(?m)^(\w+)", "".join(pages)))


def filled(expression, instance):
    for name, value in {"$__rate_interval": "10s", "$job": "perfvigil", "$instance": instance}.items():
        expression = expression.replace(name, value)
    return expression


def check_panels(boards, prometheus, published):
    faults, asked, empty = [], 0, []
    for path, board in boards.items():
        for panel in board["panels"]:
            for target in panel["targets"]:
                query = filled(target["expr"], ".*")
                answer = json.loads(get(f"{prometheus}/api/v1/query?" + urllib.parse.urlencode({"query": query})))
                asked += 1
                if answer["data"]["result"]:
                    continue
                series = set(re.findall(r"perfvigil_\w+", query)) - {"perfvigil_"}
                if panel["title"] in CONDITIONAL or any(s in OPTIONAL and s not in published for s in series):
                    empty.append(panel["title"])
                else:
                    faults.append(f"{path}: panel '{panel['title']}' gets nothing: {query}")
    print(f"{asked} queries; without data here: {', '.join(empty) or 'none'}")
    return faults


def main():
    source, perfvigild = pathlib.Path(sys.argv[1]), sys.argv[2]
    program = prometheus_program()
    if not program or os.geteuid() != 0:
        print("Skipped: " + ("needs root to record" if program else "prometheus is missing: ./dev deps test"))
        sys.exit(77)
    boards = {p.name: json.loads(p.read_text()) for p in sorted((source / "packaging/grafana").glob("*.json"))}
    with tempfile.TemporaryDirectory(prefix="perfvigil-dashboards-") as name:
        with Hosts(perfvigild, program, pathlib.Path(name), ["host-a", "host-b"]) as hosts:
            time.sleep(SCRAPES)
            faults = check_panels(boards, hosts.prometheus, hosts.published())
    for fault in faults:
        print(fault)
    if faults:
        sys.exit(f"check_dashboards.py: {len(faults)} faults")


if __name__ == "__main__":
    main()
