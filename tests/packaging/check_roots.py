#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What is not the package on its own host: the image that packaging/Containerfile makes (buildah, a Debian 12 of
mmdebstrap's as its base), started with the capabilities that the file names; and the tarball in a Debian without the
package, by the steps of docs/install.md and with the capabilities of the unit. Both profile this host.

usage: check_roots.py SOURCE BUILD
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

import check_dashboards

CAPABILITIES = ["perfmon", "syslog", "sys_ptrace", "dac_read_search", "checkpoint_restore"]
IMAGE = "docker.io/library/debian:12-slim"
FAULTS = []


def run(*command, **how):
    ran = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False, **how)
    if ran.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, command))}: {ran.returncode}\n{(ran.stdout + ran.stderr)[-3000:]}")
    return ran.stdout


def check(what, expected, found, holds=None):
    good = expected == found if holds is None else bool(holds)
    print(f"{'ok   ' if good else 'FAULT'} {what}: expected {expected}, found {found}")
    if not good:
        FAULTS.append(what)


class Buildah:
    """With a storage of its own; removed at the end."""

    def __init__(self, folder):
        self.options = ["--root", f"{folder}/store", "--runroot", f"{folder}/run", "--storage-driver", "vfs"]

    def __call__(self, *words):
        return run("buildah", *self.options, *words).strip()


def base_tar():
    """A small Debian 12, made once."""
    path = pathlib.Path.home() / ".cache/perfvigil/bookworm.tar"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(".part.tar")
        run("mmdebstrap", "--quiet", "--variant=minbase", "--dpkgopt=force-unsafe-io", "bookworm", part)
        part.rename(path)
    return path


def inside(root, *command):
    """The command line of a process in `root` that sees this host's /proc, /sys and /dev, as --pid=host lets it."""
    mounts = "; ".join(f"mount --rbind /{name} '{root}/{name}'" for name in ("proc", "sys", "dev"))
    return ["unshare", "--mount", "sh", "-c", f'{mounts}; exec chroot "$0" "$@"', str(root), *map(str, command)]


def rights(*user):
    """Those capabilities and no other; ambient where the user is not root."""
    bounding = ["--bounding-set=-all," + ",".join(f"+{name}" for name in CAPABILITIES)]
    if user:
        lists = ",".join(f"+{name}" for name in CAPABILITIES)
        bounding += [f"--inh-caps={lists}", f"--ambient-caps={lists}", "--no-new-privs", *user]
    return ["setpriv", *bounding]


@contextlib.contextmanager
def busy_process(folder):
    """A process of this host whose name no root knows."""
    program = folder / "pv_roots_load"
    shutil.copy(os.path.realpath(sys.executable), program)
    load = subprocess.Popen([program, "-c", "while True: sum(range(1000))"])
    try:
        yield "pv_roots_load"
    finally:
        load.kill()
        load.wait()


def judge_daemon(what, root, command, prefix, load):
    port = check_dashboards.free_port()
    (root / "etc/perfvigil").mkdir(parents=True, exist_ok=True)
    (root / "etc/perfvigil/perfvigil.yaml").write_text(
        f"listen: {{address: '127.0.0.1:{port}'}}\nrecording: {{slice: 1s}}\nanalysis: {{window: 5s, spread: 0s}}\n")
    log = root / "log"
    with open(log, "w") as errors:
        daemon = subprocess.Popen(inside(root, *command), stderr=errors)
    try:
        check_dashboards.wait_for(f"http://127.0.0.1:{port}/readyz", 60)
        status = (pathlib.Path("/proc") / str(daemon.pid) / "status").read_text()
        effective = int(re.search(r"CapEff:\s*(\w+)", status)[1], 16)
        # capabilities(7)
        check(f"{what}: effective capabilities", hex(1 << 38 | 1 << 34 | 1 << 19 | 1 << 2 | 1 << 40), hex(effective))
        perfvigil = inside(root, f"{prefix}/bin/perfvigil")
        limit = time.monotonic() + 60
        while subprocess.run([*perfvigil, "report", "latest"], capture_output=True, check=False).returncode != 0:
            if time.monotonic() > limit:
                raise SystemExit(f"{what}: no window in a minute\n{log.read_text()[-3000:]}")
            time.sleep(1)
        report = json.loads(run(*perfvigil, "report", "latest", "--json", "--top", "0"))
        comms = {row["comm"] for event in report["events"] for row in event.get("comms", [])}
        rows = [row for event in report["events"] for row in event["functions"]]
        kernel = sum(row["self_samples"] for row in rows if row["dso"] == "[kernel.kallsyms]" and not row.get("unknown"))
        check(f"{what}: a process of this host is in its report", load, sorted(comms & {load}) or sorted(comms),
              load in comms)
        check(f"{what}: kernel functions with names", "some samples", kernel, kernel > 0)
        given = json.loads(run(*perfvigil, "status", "--json"))["degraded"]
        print(f"      {what}: degraded: {', '.join(one['reason'] for one in given) or 'nothing'}")
        rights_missing = {"no_capabilities", "no_kernel_symbols", "no_foreign_maps", "store", "no_symbol_child", "sandbox"}
        check(f"{what}: reasons that would be its own fault", set(), rights_missing & {one["reason"] for one in given})
    except SystemExit:
        print(log.read_text()[-3000:])
        raise
    finally:
        daemon.send_signal(signal.SIGTERM)
        ended = daemon.wait(30)
    check(f"{what}: ends at SIGTERM", 0, ended)


def check_container(source, debs, buildah, load):
    # The base by its name, so that the file is built as it stands.
    base = buildah("from", "scratch")
    buildah("add", "-q", base, base_tar(), "/")
    buildah("commit", "-q", base, IMAGE)
    buildah("bud", "--isolation", "chroot", "--pull-never", "-f", source / "packaging/Containerfile", "-t", "perfvigil",
            debs)
    container = buildah("from", "--pull-never", "localhost/perfvigil")
    config = json.loads(buildah("inspect", "--type", "image", "localhost/perfvigil"))["OCIv1"]["config"]
    check("container: entry point", ["/usr/sbin/perfvigild"], config["Entrypoint"])
    check("container: volumes", ["/var/lib/perfvigil"], list(config["Volumes"]))
    named = re.search(r"--cap-add=(\S+)", (source / "packaging/Containerfile").read_text())[1]
    check("container: the capabilities that the file names", CAPABILITIES, named.split(","))
    root = pathlib.Path(buildah("mount", container))
    judge_daemon("container", root, [*rights(), *config["Entrypoint"]], "/usr", load)
    return root


def check_tarball(tarball, root, load):
    """In the image's root, where the libraries are, once the package is gone."""
    run(*inside(root, "dpkg", "--purge", "perfvigil"))
    run(*inside(root, "sh", "-c", "userdel perfvigil; groupdel perfvigil-read; rm -rf /var/lib/perfvigil /run/perfvigil"))
    check("tarball: nothing of the package is left", [], [str(path) for path in
          (root / "usr/sbin/perfvigild", root / "usr/bin/perfvigil") if path.exists()])
    run("tar", "-C", root, "-xzf", tarball)
    missing = re.findall(r"(\S+) => not found", run(*inside(root, "ldd", "/usr/local/sbin/perfvigild")))
    check("tarball: libraries that are missing", [], missing)
    run(*inside(root, "systemd-sysusers"))
    run(*inside(root, "systemd-tmpfiles", "--create", "perfvigil.conf"))
    run("systemctl", f"--root={root}", "enable", "perfvigild")
    check("tarball: systemd finds and enables the unit", True,
          os.path.lexists(root / "etc/systemd/system/multi-user.target.wants/perfvigild.service"))
    # What StateDirectory= does.
    run(*inside(root, "install", "-d", "-o", "perfvigil", "-g", "perfvigil", "-m", "750", "/var/lib/perfvigil"))
    user = ["--reuid=perfvigil", "--regid=perfvigil", "--clear-groups"]
    judge_daemon("tarball", root, [*rights(*user), "/usr/local/sbin/perfvigild"], "/usr/local", load)


def main():
    source, build = map(pathlib.Path, sys.argv[1:])
    if "PERFVIGIL_LONG" not in os.environ:
        print("Skipped: takes minutes and packages from the network (./dev test --long)")
        sys.exit(77)
    for tool in ("buildah", "mmdebstrap", "setpriv", "systemctl", "dh"):
        if not shutil.which(tool) or os.geteuid() != 0:
            print(f"Skipped: needs root and {tool} (./dev deps test vm)")
            sys.exit(77)
    with tempfile.TemporaryDirectory(prefix="perfvigil-roots-") as name:
        folder = pathlib.Path(name)
        run("bash", source / "packaging/deb.sh", build, folder / "debs",
            env={**os.environ, "DEB_BUILD_OPTIONS": "noautodbgsym"})
        tarball = run("bash", source / "packaging/tarball.sh", build, folder / "tarball").strip().splitlines()[-1]
        buildah = Buildah(folder)
        try:
            with busy_process(folder) as load:
                root = check_container(source, folder / "debs", buildah, load)
                check_tarball(tarball, root, load)
        finally:
            buildah("umount", "--all")
    print(f"{len(FAULTS)} faults")
    sys.exit(1 if FAULTS else 0)


if __name__ == "__main__":
    main()
