#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A small fleet: three daemons that replay stated truths, each in a network namespace of its own, and one Prometheus that
scrapes them over a bridge with a token. The fleet's hotspots by Prometheus are the sums of the truths.

usage: check_fleet.py PERFVIGILD FLEET_CAPTURE
"""

import json
import math
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request

import check_dashboards

LONG = "PERFVIGIL_LONG" in os.environ
# Seconds of the rate; the query of docs/install.md has a minute.
RANGE = 60 if LONG else 20
HERTZ = 997
SLICE = 1
THRESHOLD = 0.02
# Busy share of each CPU, and how the functions divide it, in percent. evict_page is below the threshold on the first host,
# far enough that no second's samples lift it over.
HOSTS = {
    "10.77.0.1": ([0.9, 0.8, 0.7, 0.6], {"checksum": 27, "compress": 20, "render_page": 14, "encrypt": 11, "parse_json": 9,
                                         "sort_rows": 8, "match_route": 6, "flush_log": 3, "evict_page": 1, "rare_path": 1}),
    "10.77.0.2": ([0.5, 0.4], {"compress": 30, "render_page": 25, "decode_frame": 20, "parse_json": 15, "scan_index": 9,
                               "rare_path": 1}),
    "10.77.0.3": ([0.6], {"decode_frame": 34, "scan_index": 26, "evict_page": 26, "checksum": 12, "render_page": 1,
                          "rare_path": 1}),
}
QUERY = f"topk(10, sum by (function) (rate(perfvigil_function_cpu_seconds_total[{RANGE}s])))"
# A series appears at 0, and what it counts then is in (other): the range begins so long after that.
SETTLED = 5
# Of SyntheticStream: the mean length of what a CPU does at a stretch.
STRETCH = 0.002


def run(*command):
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    if ran.returncode != 0:
        raise OSError(f"{' '.join(command)}: {ran.stderr.strip() or ran.returncode}")


class Network:
    """A namespace with a bridge, and one per host at its end of a cable. Inside: run("ip", "netns", "exec", name, …)."""

    def __init__(self):
        self.hub = f"pv{os.getpid()}hub"
        self.hosts = {address: f"pv{os.getpid()}-{i}" for i, address in enumerate(HOSTS)}
        self.made = []

    def __enter__(self):
        try:
            for name in (self.hub, *self.hosts.values()):
                run("ip", "netns", "add", name)
                self.made.append(name)
                run("ip", "-n", name, "link", "set", "lo", "up")
            run("ip", "-n", self.hub, "link", "add", "fleet", "type", "bridge")
            run("ip", "-n", self.hub, "address", "add", "10.77.0.254/24", "dev", "fleet")
            run("ip", "-n", self.hub, "link", "set", "fleet", "up")
            for i, (address, name) in enumerate(self.hosts.items()):
                run("ip", "link", "add", f"host{i}", "netns", self.hub, "type", "veth",
                    "peer", "name", "eth0", "netns", name)
                run("ip", "-n", self.hub, "link", "set", f"host{i}", "master", "fleet", "up")
                run("ip", "-n", name, "address", "add", f"{address}/24", "dev", "eth0")
                run("ip", "-n", name, "link", "set", "eth0", "up")
        except OSError:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for name in self.made:
            subprocess.run(["ip", "netns", "delete", name], check=False)


def start_daemon(perfvigild, fleet_capture, folder, namespace, address, seconds):
    busy, parts = HOSTS[address]
    home = folder / address
    home.mkdir()
    run(fleet_capture, f"{home}/capture.perf.data", f"{home}/worker", str(seconds), str(HERTZ),
        ",".join(map(str, busy)), *(f"{name}={part}" for name, part in parts.items()))
    (home / "perfvigil.yaml").write_text(
        f"recording: {{slice: {SLICE}s}}\nanalysis: {{window: 10s, spread: 0s}}\n"
        f"listen: {{address: '{address}:9909', allowed_hosts: ['{address}'], allow_remote: true, "
        f"token_file: {folder}/token}}\n"
        f"sockets: {{control: {home}/control.sock, read: ''}}\nstore: {{dir: {home}/profiles}}\n"
        f"captures: {{dir: {home}/captures}}\nmetrics: {{threshold: {THRESHOLD:.0%}}}\n")
    return subprocess.Popen(["ip", "netns", "exec", namespace, perfvigild, "--config", home / "perfvigil.yaml",
                             "--replay", home / "capture.perf.data"], stderr=open(home / "log", "w"))


def start_prometheus(program, folder):
    (folder / "prometheus.yml").write_text(
        "global: {scrape_interval: 1s}\nscrape_configs:\n  - job_name: perfvigil\n"
        f"    authorization: {{credentials_file: {folder}/token}}\n"
        f"    static_configs: [{{targets: [{', '.join(f'{address}:9909' for address in HOSTS)}]}}]\n")
    return subprocess.Popen([program, f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/tsdb",
                             "--web.listen-address=127.0.0.1:9090"], stderr=open(folder / "prometheus.log", "w"))


def ask(query):
    """[(labels, value)], or nothing while Prometheus does not answer."""
    url = "http://127.0.0.1:9090/api/v1/query?" + urllib.parse.urlencode({"query": query})
    try:
        with urllib.request.urlopen(url, timeout=10) as answer:
            rows = json.load(answer)["data"]["result"]
    except OSError:
        return []
    return [(row["metric"], float(row["value"][1])) for row in rows]


def wait_for_series(expected, seconds):
    """Until each function has been scraped over the whole range, and before, on each host where it has a series."""
    limit = time.monotonic() + seconds
    while True:
        seen = {(labels["instance"].partition(":")[0], labels["function"]): count for labels, count in
                ask(f"count_over_time(perfvigil_function_cpu_seconds_total[{RANGE + SETTLED}s])")}
        short = [key for key in expected if seen.get(key, 0) < RANGE + SETTLED - 1]
        if not short:
            return
        if time.monotonic() > limit:
            raise SystemExit(f"check_fleet.py: no series over {RANGE} s of {short}; seen: {seen}")
        time.sleep(1)


def truths():
    """({(host, function): CPUs}, {host: CPUs in all})"""
    of_function, of_host = {}, {}
    for host, (busy, parts) in HOSTS.items():
        of_host[host] = sum(busy)
        for function, part in parts.items():
            of_function[host, function] = sum(busy) * part / 100
    return of_function, of_host


def tolerance(of_function, functions, hosts=HOSTS):
    """What the sum of these may be off by, in CPUs: 4 standard deviations of the samples (R CPUs give R·range·hertz of
    them) and of the busy time itself (its stretches have random lengths), and a slice that a scrape sees one later."""
    terms = [(host, rate) for (host, function), rate in of_function.items() if function in functions and host in hosts]
    samples = sum(rate for _, rate in terms) / (RANGE * HERTZ)
    stretches = sum(rate ** 2 * sum((1 - busy) / busy for busy in HOSTS[host][0]) / len(HOSTS[host][0]) ** 2
                    for host, rate in terms) * 2 * STRETCH / RANGE
    return 4 * math.sqrt(samples + stretches) + sum(rate for _, rate in terms) * SLICE / RANGE


class Judge:
    def __init__(self):
        self.faults = 0

    def near(self, what, expected, found, within):
        good = found is not None and abs(found - expected) <= within
        self.faults += not good
        seen = "nothing" if found is None else f"{found:.4f}"
        print(f"{'ok   ' if good else 'FAULT'} {what}: expected {expected:.4f} ± {within:.4f} CPUs, found {seen}")

    def equal(self, what, expected, found):
        good = expected == found
        self.faults += not good
        print(f"{'ok   ' if good else 'FAULT'} {what}: expected {expected}, found {found}")


def judge():
    verdict = Judge()
    of_function, of_host = truths()
    named = {key for key, rate in of_function.items() if rate >= THRESHOLD * of_host[key[0]]}
    sums = {}
    for host, function in named:
        sums[function] = sums.get(function, 0) + of_function[host, function]
    small = {host: {function for h, function in of_function if h == host and (h, function) not in named} for host in HOSTS}
    sums["(other)"] = sum(of_function[host, function] for host in HOSTS for function in small[host])
    expected = sorted(sums, key=sums.get, reverse=True)[:10]

    top = {labels["function"]: rate for labels, rate in ask(QUERY)}
    print(f"      {QUERY}")
    verdict.equal("the ten functions", sorted(expected), sorted(top))
    named_rates = {key: rate for key, rate in of_function.items() if key in named}
    for function in expected:
        verdict.near(function, sums[function], top.get(function), tolerance(named_rates, {function}))

    rates = {(labels["instance"].partition(":")[0], labels["function"]): rate for labels, rate in
             ask(f"rate(perfvigil_function_cpu_seconds_total[{RANGE}s])")}
    for host in HOSTS:
        verdict.equal(f"{host}: functions under {THRESHOLD:.0%} have no series", set(),
                      {function for h, function in rates if h == host} & small[host])
        verdict.near(f"{host}: they are in (other)", sum(of_function[host, function] for function in small[host]),
                     rates.get((host, "(other)")), tolerance(of_function, small[host], [host]))
        verdict.near(f"{host}: all of it is the busy time", of_host[host],
                     sum(rate for (h, _), rate in rates.items() if h == host),
                     tolerance(of_function, {f for _, f in of_function}, [host]))
    # What docs/install.md says of a function that is small somewhere.
    name, where = "evict_page", "10.77.0.1"
    missing = of_function[where, name]
    low = sum(rate for (_, function), rate in of_function.items() if function == name) - top.get(name, 0)
    off = tolerance(named_rates, {name})
    verdict.near(f"{name} is low by its part of {where}", missing, low, off)
    most = THRESHOLD * of_host[where]
    verdict.equal(f"and by no more than the threshold times that host's busy time ({most:.3f})", True, missing <= most)
    return verdict.faults


def inside(perfvigild, fleet_capture, program, namespaces):
    expected = {(host, function) for (host, function), rate in truths()[0].items()
                if rate >= THRESHOLD * truths()[1][host]}
    with tempfile.TemporaryDirectory(prefix="perfvigil-fleet-") as name:
        folder = pathlib.Path(name)
        (folder / "token").write_text("a token of this test alone")
        running = []
        try:
            running.append(start_prometheus(program, folder))
            for namespace, address in zip(namespaces, HOSTS):
                running.append(start_daemon(perfvigild, fleet_capture, folder, namespace, address, RANGE + 60))
            wait_for_series(expected, RANGE + 45)
            faults = judge()
        except SystemExit:
            for log in folder.rglob("*log"):
                if log.is_file():
                    print(f"--- {log.relative_to(folder)}\n{log.read_text()[-2000:]}")
            raise
        finally:
            for one in running:
                one.send_signal(signal.SIGTERM)
            for one in running:
                one.wait(30)
    print(f"{faults} faults")
    sys.exit(1 if faults else 0)


def skip(reason):
    print(f"Skipped: {reason}")
    sys.exit(77)


def main():
    program = check_dashboards.prometheus_program()
    if not program:
        skip("prometheus is missing: ./dev deps test")
    if not shutil.which("ip"):
        skip("ip is missing: install iproute2")
    try:
        with Network() as network:
            ran = subprocess.run(["ip", "netns", "exec", network.hub, sys.executable, "-B", __file__, "--inside",
                                  *sys.argv[1:], program, *network.hosts.values()], check=False)
    except OSError as error:
        skip(f"no network namespaces here: {error}")
    sys.exit(ran.returncode)


if __name__ == "__main__":
    if sys.argv[1] == "--inside":
        inside(sys.argv[2], sys.argv[3], sys.argv[4], sys.argv[5:])
    else:
        main()
