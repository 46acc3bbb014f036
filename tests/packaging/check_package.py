#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The Debian package: what it holds, what lintian says, and that installing and purging it leaves nothing.

usage: check_package.py SOURCE BUILD
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

FILES = {  # path: mode
    "/usr/bin/perfvigil": "-rwxr-xr-x",
    "/usr/sbin/perfvigild": "-rwxr-xr-x",
    "/usr/libexec/perfvigil/perfvigil-symbols": "-rwxr-xr-x",
    "/etc/perfvigil/perfvigil.yaml": "-rw-r--r--",
    "/lib/systemd/system/perfvigild.service": "-rw-r--r--",
    "/lib/systemd/system/perfvigild-control.socket": "-rw-r--r--",
    "/lib/systemd/system/perfvigild-read.socket": "-rw-r--r--",
    "/usr/lib/sysusers.d/perfvigil.conf": "-rw-r--r--",
    "/usr/lib/tmpfiles.d/perfvigil.conf": "-rw-r--r--",
    "/usr/share/bash-completion/completions/perfvigil": "-rw-r--r--",
    "/usr/share/man/man1/perfvigil.1.gz": "-rw-r--r--",
    "/usr/share/man/man5/perfvigil.yaml.5.gz": "-rw-r--r--",
    "/usr/share/man/man8/perfvigild.8.gz": "-rw-r--r--",
    "/usr/share/perfvigil/systemd/remote.conf": "-rw-r--r--",
    "/usr/share/perfvigil/systemd/debian-paranoid.conf": "-rw-r--r--",
    "/usr/share/perfvigil/sysctl/60-perfvigil.conf": "-rw-r--r--",
    "/usr/share/perfvigil/prometheus/perfvigil.rules.yaml": "-rw-r--r--",
    "/usr/share/perfvigil/grafana/perfvigil-host.json": "-rw-r--r--",
}
# Only the administrator installs settings of the kernel and drop-ins.
NEVER = re.compile(r"^/(etc/sysctl\.d|usr/lib/sysctl\.d|etc/systemd|usr/local|var|run)/.|_test\.yaml$")
PACKAGES_NEEDED = {"libc6", "libstdc++6", "libyaml-cpp0.7", "libsqlite3-0", "libdw1", "libelf1"}


def run(*command, **how):
    ran = subprocess.run(command, capture_output=True, text=True, check=False, **how)
    if ran.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, command))}: {ran.returncode}\n{(ran.stdout + ran.stderr)[-3000:]}")
    return ran.stdout


FAULTS = []


def fault(text):
    FAULTS.append(text)


def contents(deb):
    """{path: mode} of the files."""
    found = {}
    for line in run("dpkg-deb", "-c", deb).splitlines():
        mode, owner, _, _, _, path = line.split(None, 5)
        if owner != "root/root":
            fault(f"{path} belongs to {owner}")
        if mode[0] != "d":
            found[path.lstrip(".").split(" -> ")[0]] = mode
    return found


def check_contents(deb, source):
    files = contents(deb)
    for path, mode in FILES.items():
        if files.get(path) != mode:
            fault(f"{path} is {files.get(path, 'missing')}, not {mode}")
    for path, mode in files.items():
        if NEVER.search(path):
            fault(f"{path} is not for a package")
        if "s" in mode or mode[8] == "w":
            fault(f"{path} is {mode}")
    version = re.search(r"project\(perfvigil VERSION (\S+)", (source / "CMakeLists.txt").read_text())[1]
    packaged = run("dpkg-deb", "-f", deb, "Version").strip()
    if packaged.partition("-")[0] != version:
        fault(f"packaging/debian/changelog says {packaged}, CMakeLists.txt {version}")
    depends = run("dpkg-deb", "-f", deb, "Depends")
    for name in sorted(PACKAGES_NEEDED - {part.split()[0] for part in depends.split(",")}):
        fault(f"Depends lacks {name}: {depends}")


def check_scripts(deb, folder):
    run("dpkg-deb", "-e", deb, folder)
    if (folder / "conffiles").read_text().split() != ["/etc/perfvigil/perfvigil.yaml"]:
        fault(f"conffiles are {(folder / 'conffiles').read_text()!r}")
    scripts = {name: (folder / name).read_text() for name in ("postinst", "prerm", "postrm")}
    for name, words in {"postinst": ["systemd-sysusers", "systemd-tmpfiles", "deb-systemd-helper enable",
                                     "deb-systemd-invoke"], "prerm": ["deb-systemd-invoke stop"],
                        "postrm": ["deb-systemd-helper purge", "rm -rf /var/lib/perfvigil"]}.items():
        for word in words:
            if word not in scripts[name]:
                fault(f"{name} lacks {word}")
    # The users before what belongs to them.
    if scripts["postinst"].find("systemd-sysusers") > scripts["postinst"].find("systemd-tmpfiles"):
        fault("postinst makes folders before their users")


def check_lintian(deb):
    if not shutil.which("lintian"):
        print("without lintian: it is not installed")
        return
    ran = subprocess.run(["lintian", "--allow-root", "--no-tag-display-limit", "--fail-on", "error", deb],
                         capture_output=True, text=True, check=False)
    if ran.returncode != 0:
        fault(f"lintian: {(ran.stdout + ran.stderr).strip()}")
    print(ran.stdout.strip())


def tree_of(root):
    """Files below what a package may touch; dpkg's own books and logs aside."""
    books = ("var/lib/dpkg/", "var/log/", "var/lib/systemd/")
    return {str(path.relative_to(root)) for top in ("etc", "lib", "usr", "var", "run") for path in (root / top).rglob("*")
            if not str(path.relative_to(root)).startswith(books)}


def dpkg(root, *arguments):
    # The dependencies' own packages are not in the root, and its scripts are checked above: helpers of systemd would act
    # on the host that this runs on.
    return run("dpkg", f"--root={root}", f"--log={root}/var/log/dpkg.log", "--force-depends",
               "--force-not-root", "--force-script-chrootless", *arguments,
               env={**os.environ, "PATH": f"{root}/fake:{os.environ['PATH']}"})


def check_installed(deb, folder):
    """Into a root of its own, with an administrator's configuration and data; removed, then purged."""
    root = folder / "root"
    for name in ("var/lib/dpkg/info", "var/lib/dpkg/updates", "var/log", "etc", "lib", "usr", "run", "fake"):
        (root / name).mkdir(parents=True)
    for name in ("status", "available"):
        (root / "var/lib/dpkg" / name).touch()
    bare = folder / "bare.deb"
    without_scripts(deb, folder, bare)
    before = tree_of(root)
    dpkg(root, "--install", bare)
    for path in FILES:
        if not (root / path.lstrip("/")).is_file():
            fault(f"{path} was not installed")
    config = root / "etc/perfvigil/perfvigil.yaml"
    config.write_text(config.read_text() + "# mine\n")
    dpkg(root, "--install", bare)
    if "# mine" not in config.read_text():
        fault("an upgrade replaced the administrator's configuration")
    dpkg(root, "--remove", "perfvigil")
    if not config.is_file():
        fault("removing took the configuration")
    dpkg(root, "--purge", "perfvigil")
    for path in sorted(tree_of(root) - before):
        fault(f"purge left {path}")


def without_scripts(deb, folder, out):
    """The package again, its scripts aside."""
    parts = folder / "parts"
    run("dpkg-deb", "-R", deb, parts)
    for name in ("preinst", "postinst", "prerm", "postrm"):
        (parts / "DEBIAN" / name).unlink(missing_ok=True)
    run("dpkg-deb", "--root-owner-group", "-Znone", "-b", parts, out)
    shutil.rmtree(parts)


def check_purge_script(scripts, folder):
    """The postrm's own lines: on purge the data goes, on remove it stays. Its paths are moved into a folder."""
    text = (scripts / "postrm").read_text().partition("# Automatically added")[0]
    data = folder / "data"
    text = text.replace("/var/lib/perfvigil", f"{data}/var").replace("/run/perfvigil", f"{data}/run")
    text = text.replace("/etc/perfvigil", f"{data}/etc")
    script = folder / "postrm"
    script.write_text(text)
    for action, left in (("remove", {"var", "run", "etc"}), ("purge", set())):
        for name in ("var", "run", "etc"):
            (data / name).mkdir(parents=True, exist_ok=True)
        (data / "var/profile").touch()
        run("sh", script, action)
        if {path.name for path in data.iterdir()} != left:
            fault(f"postrm {action} leaves {sorted(path.name for path in data.iterdir())}")


def main():
    source, build = map(pathlib.Path, sys.argv[1:])
    for tool in ("dpkg-buildpackage", "dh"):
        if not shutil.which(tool):
            print(f"Skipped: {tool} is missing: ./dev deps test")
            sys.exit(77)
    # Where npm could not build the page, there is none.
    if (build / "web/index.html").exists():
        FILES.update({f"/usr/share/perfvigil/web/{name}": "-rw-r--r--"
                      for name in ("index.html", "app.js", "style.css", "icon.svg", "licences.txt")})
    with tempfile.TemporaryDirectory(prefix="perfvigil-package-") as name:
        folder = pathlib.Path(name)
        # Packing the debug symbols takes minutes and shows nothing.
        run("bash", source / "packaging/deb.sh", build, folder / "out",
            env={**os.environ, "DEB_BUILD_OPTIONS": "noautodbgsym"})
        deb = next((folder / "out").glob("perfvigil_*.deb"))
        check_contents(deb, source)
        check_scripts(deb, folder / "control")
        check_purge_script(folder / "control", folder)
        check_lintian(deb)
        if os.geteuid() == 0:
            check_installed(deb, folder)
        else:
            print("not installed into a root: that needs root")
    for line in FAULTS:
        print(line)
    if FAULTS:
        sys.exit(f"check_package.py: {len(FAULTS)} faults")


if __name__ == "__main__":
    main()
