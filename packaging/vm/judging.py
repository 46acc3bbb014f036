# SPDX-License-Identifier: GPL-2.0-or-later
"""What judges of a virtual machine's folder (the first argument) share: its files, and a line for each truth."""

import json
import pathlib
import sys

folder = pathlib.Path(sys.argv[1])
faults = []


def text(name):
    path = folder / name
    return path.read_text(errors="replace") if path.exists() else ""


def load(name, keys):
    """An object; where there is none a fault, and empty lists for `keys`."""
    try:
        return json.loads(text(name))
    except ValueError as error:
        check(False, f"{name}: {error}; {text(name.removesuffix('json') + 'err').strip()[:400]}")
        return {key: [] for key in keys}


def check(truth, sentence):
    print(("ok    " if truth else "FAULT ") + sentence)
    if not truth:
        faults.append(sentence)
