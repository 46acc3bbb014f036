# SPDX-License-Identifier: GPL-2.0-or-later
"""The files that the lint checks look at, and the frame that their self-tests share."""

import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
CODE = {".cpp", ".hpp", ".c", ".h"}
# What a plain walk must not enter when git cannot say which files are ours.
NOT_OURS = {".git", "build", "node_modules", "__pycache__", ".cache"}


def files(root):
    """Paths below root, relative: git's list where root is a checkout, else every file."""
    if (root / ".git").exists():
        listed = subprocess.run(
            ["git", "-c", f"safe.directory={root}", "-C", str(root), "ls-files", "-z",
             "--cached", "--others", "--exclude-standard"],
            capture_output=True, check=False)
        if listed.returncode == 0:
            paths = [pathlib.Path(p) for p in listed.stdout.decode().split("\0") if p]
            return sorted({p for p in paths if (root / p).is_file()})
    found = (p.relative_to(root) for p in root.rglob("*") if p.is_file())
    return sorted(p for p in found if not NOT_OURS.intersection(p.parts))


def main(check, self_test):
    """Runs check(root) -> list of faults over the project, or self_test(faults_of) with --self-test."""
    if "--self-test" in sys.argv[1:]:
        self_test(lambda tree: _faults_of(check, tree))
        print(f"{pathlib.Path(sys.argv[0]).name}: every planted violation was found")
        return
    faults = check(ROOT)
    for fault in faults:
        print(fault)
    if faults:
        sys.exit(f"{pathlib.Path(sys.argv[0]).name}: {len(faults)} faults")


def _faults_of(check, tree):
    """The faults that check finds in a tree given as {path: text}."""
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for path, text in tree.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text)
        return check(root)


def expect(faults, words, about):
    """Asserts that there is exactly one fault and that it says words; no fault when words is None."""
    if words is None:
        assert not faults, f"{about}: unexpected: {faults}"
    else:
        assert len(faults) == 1 and words in faults[0], f"{about}: expected one fault with '{words}', got {faults}"
