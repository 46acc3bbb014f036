#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The systemd units: understood by systemd, hardened, and without what would blind a profiler, each with its reason."""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import tree

SERVICE = "systemd/perfvigild.service"
SOCKETS = {"control": "perfvigil", "read": "perfvigil-read"}  # FileDescriptorName → group
MAX_EXPOSURE = 3.0
# Must not be set; the unit's comments must say why. ProtectHome may be read-only.
BLINDING = ["ProtectKernelTunables", "ProtectKernelLogs", "ProtectKernelModules", "ProcSubset", "PrivateUsers",
            "PrivatePIDs", "PrivateTmp", "PrivateNetwork", "DynamicUser", "RootDirectory", "CPUQuota"]
CAPABILITIES = {"CAP_PERFMON", "CAP_SYSLOG", "CAP_SYS_PTRACE", "CAP_DAC_READ_SEARCH", "CAP_CHECKPOINT_RESTORE"}
NEEDED = {"Type": "notify", "User": "perfvigil", "LimitMEMLOCK": "infinity", "IPAddressDeny": "any",
          "IPAddressAllow": "localhost", "NoNewPrivileges": "yes"}


def directives(text):
    """[(name, value)] of a unit file, in order."""
    lines = (line.strip() for line in text.replace("\\\n", " ").splitlines())
    return [tuple(part.strip() for part in line.split("=", 1))
            for line in lines if line and line[0] not in "#;[" and "=" in line]


def run(command, env=None):
    ran = subprocess.run(command, capture_output=True, text=True, check=False, env=env)
    return ran.returncode, (ran.stdout + ran.stderr).strip()


def check_service(text):
    faults = []
    given = directives(text)
    names = {name for name, _ in given}
    comments = "\n".join(line for line in text.splitlines() if line.startswith("#"))
    for name in BLINDING:
        if name in names:
            faults.append(f"{SERVICE}: {name}= blinds the profiler")
        if not re.search(rf"\b{name}\b", comments):
            faults.append(f"{SERVICE}: no comment says why {name}= is absent")
    for name, value in NEEDED.items():
        if (name, value) not in given:
            faults.append(f"{SERVICE}: {name}={value} is missing")
    for name in ("AmbientCapabilities", "CapabilityBoundingSet"):
        have = {word for key, value in given if key == name for word in value.split()}
        if have != CAPABILITIES:
            faults.append(f"{SERVICE}: {name}= differs in {', '.join(sorted(have ^ CAPABILITIES))}")
    filters = [value for name, value in given if name == "SystemCallFilter" and not value.startswith("~")]
    if not any("perf_event_open" in value.split() for value in filters):
        faults.append(f"{SERVICE}: SystemCallFilter= lacks perf_event_open")
    memory = {name: int(value.rstrip("M")) for name, value in given if name in ("MemoryHigh", "MemoryMax")}
    if len(memory) != 2 or memory["MemoryHigh"] >= memory["MemoryMax"]:
        faults.append(f"{SERVICE}: MemoryHigh= must be below MemoryMax=, in M")
    return faults


def check_sockets(root):
    faults = []
    users = (root / "systemd/perfvigil.sysusers").read_text()
    groups = set(re.findall(r"^[ug] (\S+)", users, re.M))
    for name, group in SOCKETS.items():
        path = f"systemd/perfvigild-{name}.socket"
        given = directives((root / path).read_text())
        for want in [("FileDescriptorName", name), ("SocketGroup", group), ("SocketMode", "0660"),
                     ("ListenStream", f"/run/perfvigil/{name}.sock"), ("Service", "perfvigild.service")]:
            if want not in given:
                faults.append(f"{path}: {'='.join(want)} is missing")
        if group not in groups:
            faults.append(f"{path}: systemd/perfvigil.sysusers makes no group {group}")
    return faults


def check_by_systemd(root):
    """The first thing that systemd-analyze objects to, in the units alone and with each drop-in."""
    units = sorted((root / "systemd").glob("*.s[eo][rc][vk]*"))
    drop_ins = [None, *sorted((root / "systemd/drop-ins").glob("*.conf"))]
    for drop_in in drop_ins:
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            for unit in units:
                # The program is not installed here.
                text = re.sub(r"(?m)^ExecStart=\S+", "ExecStart=/bin/true", unit.read_text())
                (folder / unit.name).write_text(text)
            if drop_in:
                (folder / "perfvigild.service.d").mkdir()
                shutil.copy(drop_in, folder / "perfvigild.service.d")
            env = {"SYSTEMD_UNIT_PATH": f"{folder}:", "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}
            status, said = run(["systemd-analyze", "verify", "--man=no", *[str(folder / u.name) for u in units]], env)
            about = f"systemd/drop-ins/{drop_in.name}" if drop_in else "systemd"
            if status != 0 or said:
                # A fault of the unit is one in each drop-in's company too.
                return [f"{about}: systemd-analyze verify: {said or status}"]
    _, said = run(["systemd-analyze", "security", "--offline=true", str(root / SERVICE)])
    level = re.search(r"exposure level for \S+: ([\d.]+)", said)
    if not level:
        return [f"{SERVICE}: systemd-analyze security says no level: {said[:200]}"]
    if float(level[1]) > MAX_EXPOSURE:
        return [f"{SERVICE}: exposure {level[1]} is over {MAX_EXPOSURE} (systemd-analyze security)"]
    return []


def check(root):
    return check_service((root / SERVICE).read_text()) + check_sockets(root) or check_by_systemd(root)


def self_test(faults_of):
    ours = {str(p): (tree.ROOT / p).read_text() for p in tree.files(tree.ROOT) if p.parts[0] == "systemd"}

    def changed(path, old, new):
        assert old in ours[path], f"{path} holds no {old!r}"
        return {**ours, path: ours[path].replace(old, new)}

    hardening = re.search(r"(?ms)^ProtectSystem=.*?^SystemCallErrorNumber=\S+\n", ours[SERVICE])[0]
    cases = [  # file, text, what stands there instead, the fault's words (None: allowed)
        (SERVICE, "ProtectSystem=", "ProtectSystem=", None),
        (SERVICE, "ProtectClock=yes\n", "ProtectClock=yes\nProtectKernelLogs=yes\n", "ProtectKernelLogs= blinds"),
        (SERVICE, "CPUWeight=50\n", "CPUWeight=50\nCPUQuota=10%\n", "CPUQuota= blinds"),
        (SERVICE, "#   ProcSubset=pid ", "#   ", "no comment says why ProcSubset="),
        (SERVICE, "\nAmbientCapabilities=CAP_PERFMON", "\nAmbientCapabilities=", "AmbientCapabilities= differs in CAP_PERFMON"),
        (SERVICE, "\nMemoryHigh=384M", "\nMemoryHigh=512M", "must be below"),
        (SERVICE, "perf_event_open seccomp", "seccomp", "lacks perf_event_open"),
        (SERVICE, hardening, "SystemCallFilter=@system-service perf_event_open\n", "is over 3.0"),
        (SERVICE, "ProtectClock=yes", "ProtectClocks=yes", "ProtectClocks"),
        ("systemd/perfvigild-read.socket", "0660", "0666", "SocketMode=0660 is missing"),
        ("systemd/perfvigil.sysusers", "g perfvigil-read -\n", "", "makes no group perfvigil-read"),
        ("systemd/drop-ins/remote.conf", "10.0.0.0/8", "10.0.0.0/8x", "verify"),
    ]
    for path, old, new, words in cases:
        tree.expect(faults_of(changed(path, old, new)), words, f"{path}: {new[:60]!r}")


if __name__ == "__main__":
    if not shutil.which("systemd-analyze"):
        print("Skipped: there is no systemd-analyze")
        sys.exit(77)
    tree.main(check, self_test)
