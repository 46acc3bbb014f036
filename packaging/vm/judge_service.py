#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Judges what packaging/vm/guest/service left behind: usage judge_service.py FOLDER."""
import collections
import json
import re
import sys

from judging import faults, text

# capabilities(7), by number
DAC_READ_SEARCH, SYS_PTRACE, SYS_ADMIN, SYSLOG, PERFMON, CHECKPOINT_RESTORE = 2, 19, 21, 34, 38, 40
OURS = {DAC_READ_SEARCH, SYS_PTRACE, SYSLOG, PERFMON, CHECKPOINT_RESTORE}


def load(name):
    """An object; empty where there is none, which the checks then find."""
    try:
        return json.loads(text(name))
    except ValueError:
        return {}


def check(what, expected, found, holds=None):
    """One line with both; they are equal unless `holds` says what else is right."""
    good = expected == found if holds is None else bool(holds)
    print(f"{'ok   ' if good else 'FAULT'} {what}: expected {expected}, found {found}")
    if not good:
        faults.append(what)


def contains(what, words, found):
    check(what, f"the words {words}", found.strip()[-600:], all(word in found for word in words))


def properties(name, unit="perfvigild.service"):
    """Of one of the units that `systemctl show` described, in the order in which they were asked for."""
    blocks = text(f"{name}.unit").split("\n\n")
    order = ["perfvigild.service", "perfvigild-control.socket", "perfvigild-read.socket"]
    block = blocks[order.index(unit)] if len(blocks) == 3 else ""
    return dict(line.partition("=")[::2] for line in block.splitlines())


def process(name):
    return dict(re.findall(r"^(\w+):\s*(.*)$", text(f"{name}.process"), re.M))


def took(name):
    """(exit status, seconds) of a timed command."""
    words = text(f"{name}.took").split()
    return (int(words[0]), int(words[1]) / 1000) if len(words) == 2 else (None, None)


def capabilities(mask):
    number = int(mask or "0", 16)
    return {bit for bit in range(64) if number >> bit & 1}


def ids(name):
    """Windows that are on the disk and whole, by id."""
    return {row["id"] for row in load(f"{name}.windows.json").get("windows", []) if row["stored"] and not row["partial"]}


def running(name):
    unit, status = properties(name), load(f"{name}.status.json")
    check(f"{name}: the unit, which is active once READY=1 came", ("active", "running"),
          (unit.get("ActiveState"), unit.get("SubState")))
    check(f"{name}: it records and is ready", ("recording", True), (status.get("state"), status.get("ready")))
    check(f"{name}: the process is the one that answers", unit.get("MainPID"), str(status.get("pid")))


def judge_installed():
    check("apt installs the package, whose service may not record yet", 0, took("install")[0])
    check("this kernel's perf_event_paranoid, as Debian sets it", "3", text("paranoid").strip())
    unit = properties("shipped")
    check("without rights the service ends, and is not tried again", ("failed", "77", "0"),
          (unit.get("ActiveState"), unit.get("ExecMainStatus"), unit.get("NRestarts")))
    contains("its log names both ways out", ["perf_event_paranoid", "60-perfvigil.conf", "debian-paranoid.conf"],
             text("shipped.log"))
    check("it is enabled", "enabled", unit.get("UnitFileState"))
    status, seconds = took("shipped-ask")
    check("a caller at the socket is told at once", "an exit status of 2 within 30 s", (status, seconds),
          status == 2 and seconds < 30)
    contains("a caller at the socket is told what to do", ["systemctl status perfvigild"], text("shipped-ask.err"))


def judge_paranoid():
    check("sysctl: started by systemctl restart", 0, took("sysctl")[0])
    running("sysctl")
    check("sysctl: effective capabilities", OURS, capabilities(process("sysctl").get("CapEff")))
    for name in ("drop-in", "drop-in-4"):
        check(f"{name}: started by systemctl restart", 0, took(name)[0])
        running(name)
        check(f"{name}: effective capabilities", OURS | {SYS_ADMIN}, capabilities(process(name).get("CapEff")))
    check("a new configuration: started by systemctl restart", 0, took("start")[0])
    running("running")


def judge_rights():
    status = process("running")
    for kind in ("CapPrm", "CapEff", "CapBnd", "CapAmb", "CapInh"):
        check(f"running: {kind}", OURS, capabilities(status.get(kind)))
    check("running: NoNewPrivs and a seccomp filter", ("1", "2"), (status.get("NoNewPrivs"), status.get("Seccomp")))
    users = set(status.get("Uid", "").split()) | set(status.get("Gid", "").split())
    check("running: one user and one group, not root's", "one number that is not 0", users, users and "0" not in users)
    children = [dict(re.findall(r"^(\w+):\s*(.*)$", part, re.M)) for part in text("processes").split("Name:")[1:]]
    eff = [capabilities(child.get("CapEff")) for child in children]
    check("the unit's other processes, which parse foreign files, have no capability", "one with all, the others none",
          eff, eff.count(OURS) == 1 and all(caps in (OURS, set()) for caps in eff))
    sockets = {match[2]: match[1] for match in re.finditer(r"^(s\S+) .* (\S+\.sock)$", text("run.list"), re.M)}
    check("the sockets' modes", {"control.sock": "srw-rw----", "read.sock": "srw-rw----"}, sockets)


def judge_modules():
    loaded = {f"[{line.split()[0]}]" for line in text("modules").splitlines()}
    named, unknown = collections.Counter(), collections.Counter()
    for event in load("modules.json").get("events", []):
        for row in event["functions"]:
            if row["dso"] in loaded:
                (unknown if row.get("unknown") else named)[row["dso"]] += row["self_samples"]
    check("modules with named functions in a report", "[ext4] with 100 samples, and another", dict(named),
          named["[ext4]"] >= 100 and len(named) > 1)
    check("their samples without a name", "a tenth at most", dict(unknown),
          sum(unknown.values()) * 10 <= sum(named.values()))


def judge_metrics():
    up = load("up.answer.json").get("data", {}).get("result", [])
    check("Prometheus: up", ["1"], [row["value"][1] for row in up])
    rows = load("functions.answer.json").get("data", {}).get("result", [])
    names = [(row["metric"]["function"], row["metric"]["dso"]) for row in rows]
    check("Prometheus: perfvigil_function_cpu_seconds_total", "(other) and five functions at least", names[:6],
          len(names) > 5 and ("(other)", "(other)") in names)
    before, after = ([int(word) for word in text(f"stat.{name}").split()[1:]] for name in ("before", "after"))
    # proc(5): user nice system idle iowait irq softirq. As a share: an emulator that gets no CPU makes ticks vanish.
    spent = [late - early for early, late in zip(before, after)]
    truth = 40 * (1 - sum(spent[3:5]) / (sum(spent) or 1)) if spent else 0
    for name in ("busy", "hotspots"):
        found = [float(row["value"][1]) for row in load(f"{name}.answer.json").get("data", {}).get("result", [])]
        # A slice and a scrape at both ends, and what both sides may be off by on an emulated CPU.
        check(f"Prometheus: {name} seconds in 40 s of load, by /proc/stat", f"{truth:.1f} ± 6", found,
              truth > 8 and len(found) == 1 and abs(found[0] - truth) <= 6)
    groups = load("rules.answer.json").get("data", {}).get("groups", [])
    broken = [rule["name"] for group in groups for rule in group["rules"] if rule["health"] == "err"]
    rules = sum(len(group["rules"]) for group in groups)
    check("Prometheus: the shipped rules", "some, none broken", (rules, broken), rules > 5 and not broken)


def judge_callers():
    for user, report, capture in (("allowed", 0, 0), ("reader", 0, 2), ("stranger", 2, 2)):
        check(f"{user}: exit status of a report", report, took(f"{user}-report")[0])
        check(f"{user}: exit status of a capture", capture, took(f"{user}-capture")[0])
        check(f"{user}: a profile over TCP without a token", "403", text(f"{user}-curl.out"))
    events = load("allowed-capture.out").get("events", [])
    samples = {event["name"]: event["samples"] for event in events}
    check("allowed: samples of 3 s", "hundreds of cpu-clock", samples, sum(samples.values()) > 100)
    contains("reader: a capture's refusal names the group", ["group perfvigil:"], text("reader-capture.err"))
    contains("stranger: a report's refusal names the group", ["group perfvigil-read"], text("stranger-report.err"))
    contains("stranger: a capture's refusal names the group", ["group perfvigil:"], text("stranger-capture.err"))
    contains("the log has who asked", ["audit uid=", "/v1/captures"], text("reloaded.log"))
    frames = text("perf.out")
    check("perf reads the capture without a word", "frames and no warning", (len(frames), text("perf.err")[:300]),
          took("perf")[0] == 0 and len(frames) > 10000 and not text("perf.err").strip())


def judge_reload():
    def frequencies(name):
        return {event["frequency_hertz"] for event in load(f"{name}.status.json").get("events", [])}

    pid = properties("running").get("MainPID")
    check("reload: exit status", 0, took("reload")[0])
    check("reload: the changed frequency, the same process", ({49}, pid),
          (frequencies("reloaded"), properties("reloaded").get("MainPID")))
    contains("reload of a wrong file: the log names the fault", ["recording.frequncy", "did you mean recording.frequency"],
             text("reloaded-wrong.log"))
    check("reload of a wrong file: goes on as before", ({49}, pid, "active"),
          (frequencies("reloaded-wrong"), *map(properties("reloaded-wrong").get, ("MainPID", "ActiveState"))))


def kept(name, before, after):
    lost = ids(before) - ids(after)
    check(f"{name}: windows of before", f"all {len(ids(before))}", f"{len(lost)} lost {sorted(lost)}",
          ids(before) and not lost)


def judge_killed():
    running("killed")
    unit = properties("killed")
    check("kill -9: restarted by systemd once, as another process", "another", unit.get("MainPID"),
          unit.get("MainPID") not in ("0", properties("reloaded").get("MainPID")))
    check("kill -9: whoever asks meanwhile gets an answer", 0, took("killed-ask")[0])
    kept("kill -9", "killed", "restarted")


def judge_stopped():
    status, seconds = took("stop")
    check("systemctl stop", "status 0 within 5 s", (status, seconds), status == 0 and seconds <= 5)
    unit = properties("stopped")
    check("stopped: the unit and how it ended", ("inactive", "success", "0"),
          (unit.get("ActiveState"), unit.get("Result"), unit.get("ExecMainStatus")))
    check("stopped: the control socket still listens", "active",
          properties("stopped", "perfvigild-control.socket").get("ActiveState"))
    check("a caller starts it", 0, took("activated")[0])
    running("activated")
    kept("stop", "restarted", "activated")


def judge_upgraded():
    check("apt upgrades", 0, took("upgrade")[0])
    before, after = text("version.before").strip(), text("version.after").strip()
    check("the version", before + "+next", after)
    running("upgraded")
    old, new = text("upgraded.old").strip(), properties("upgraded").get("MainPID")
    check("the upgrade restarts the daemon", f"another than {old}", new, new != old)
    check("the administrator's configuration", "as it was", text("upgraded.yaml")[:80],
          text("upgraded.yaml") == text("good.yaml"))
    check("the new version's configuration lies beside it", "perfvigil.yaml.dpkg-dist", text("upgraded.etc").split(),
          "perfvigil.yaml.dpkg-dist" in text("upgraded.etc").split())
    kept("upgrade", "activated", "upgraded")


def judge_removed():
    def data(name):
        return {line for line in text(name).split() if not line.startswith("/run/")}

    def state_of(name):
        return [line.split()[:4] for line in text(name).splitlines() if "not-found" not in line]

    check("apt removes", 0, took("remove")[0])
    # The window that was open is stored at the end.
    gone = {path for path in data("files.before") - data("files.removed") if not re.search(r"\.part|-wal$|-shm$|\.tmp", path)}
    check("removing keeps configuration and data", "nothing gone", gone, not gone and data("files.removed"))
    check("removing leaves no unit behind", [], state_of("units.removed"))
    check("apt installs it again", 0, took("again")[0])
    running("again")
    kept("installed again", "upgraded", "again")
    check("apt purges", 0, took("purge")[0])
    check("purging takes configuration and data", "", text("files.purged") + text("folders.purged"))
    check("purging leaves no unit behind", [], state_of("units.purged"))
    check("purging leaves no process behind", "", text("processes.purged"))
    contains("the user stays", ["perfvigil:"], text("user.purged"))


for part in (judge_installed, judge_paranoid, judge_rights, judge_modules, judge_metrics, judge_callers, judge_reload,
             judge_killed, judge_stopped, judge_upgraded, judge_removed):
    part()
print(f"{len(faults)} faults")
sys.exit(1 if faults else 0)
