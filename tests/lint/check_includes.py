#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Which layer may include which, and which folder a third-party library must not leave (ARCHITECTURE.md)."""

import re

import tree

ABOVE = {
    "base": {"base"},
    "collector": {"base", "collector"},
    "analyzer": {"base", "collector", "analyzer"},
    "config": {"base", "collector", "analyzer", "config"},
    "daemon": {"base", "collector", "analyzer", "config", "daemon"},
    "cli": {"base", "collector", "analyzer", "config", "cli"},
}
# Single files that a layer may use from a layer otherwise closed to it.
EXCEPTIONS = {("cli", "daemon/protocol.hpp")}
# What reads a store's folder, in the daemon and without one: pure, linked into both (CMakeLists.txt).
EXCEPTIONS |= {("cli", f"daemon/{name}.hpp") for name in ("api_store", "capture_files", "store_files", "window_cover")}
# The symbol child is linked with base alone; it shares the protocol headers beside it.
CHILD = "analyzer/symbols/child/"

# Name, what the include looks like, where it may stand, in at most how many files of the program.
FENCES = [
    ("Asio and Beast", r"boost/(asio|beast)\b", ("daemon/", "cli/"), None),
    ("yaml-cpp", r"yaml-cpp/", ("config/",), 1),
    ("prometheus", r"prometheus/", ("daemon/",), 1),
    ("libperf", r"(perf|internal)/|linux/perf_event\.h", ("collector/",), None),
    ("libelf and libdw", r"(libelf|gelf|dwarf|nlist)\.h|elfutils/|libelf/", (CHILD, "analyzer/symbols/elf_"), None),
    ("spdlog", r"spdlog/", ("daemon/",), None),
    ("sqlite", r"sqlite3\.h", ("daemon/",), None),
    ("CLI11", r"CLI/", ("cli/",), None),
    ("capstone", r"capstone/", ("cli/",), 1),
    ("protozero", r"protozero/", ("analyzer/", "collector/capture_facts"), None),
]
# A test may include what the layer it tests may; these folders test the whole and may include anything.
FREE = ("tests/support/", "tests/clients/", "tests/kernel/", "tests/e2e/", "tests/golden/", "tests/bench/",
        "tests/fuzz/", "tests/property/", "tests/vm/")
INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)')


def check(root):
    faults = []
    used_in = {name: [] for name, *_ in FENCES}
    for path in tree.files(root):
        if path.suffix not in tree.CODE or str(path).startswith(FREE):
            continue
        tested = path.parts[0] == "tests"
        place = "/".join(path.parts[1:] if tested else path.parts)
        layer = place.split("/")[0]
        if layer not in ABOVE:
            continue
        for number, line in enumerate((root / path).read_text(errors="replace").splitlines(), 1):
            match = INCLUDE.match(line)
            if not match:
                continue
            ours, foreign = match.groups()
            where = f"{path}:{number}"
            if ours:
                faults += _direction(root, where, place, layer, ours, tested)
            else:
                faults += _fences(where, place, foreign, path, tested, used_in)
    for name, _, _, limit in FENCES:
        inside = sorted(set(used_in[name]))
        if limit is not None and len(inside) > limit:
            faults.append(f"{name} is included by {len(inside)} files ({', '.join(inside)}); the fence allows {limit}")
    return faults


def _direction(root, where, place, layer, target, tested):
    if tested and target.startswith("tests/"):
        return []
    target_layer = target.split("/")[0]
    if target_layer not in ABOVE:
        return [f"{where}: \"{target}\" is not spelled from the top of the tree"]
    if not (root / target).is_file():
        return [f"{where}: \"{target}\" does not exist"]
    if place.startswith(CHILD) and not tested and target_layer != "base" and not target.startswith("analyzer/symbols/"):
        return [f"{where}: the symbol child must not include \"{target}\""]
    if target_layer in ABOVE[layer] or (layer, target) in EXCEPTIONS:
        return []
    return [f"{where}: {layer}/ must not include \"{target}\""]


def _fences(where, place, header, path, tested, used_in):
    faults = []
    for name, pattern, allowed, _ in FENCES:
        if not re.match(pattern, header):
            continue
        # A test of a fenced file is in its layer's test folder, whatever its name.
        inside = place.startswith(tuple(a.split("/")[0] + "/" if tested else a for a in allowed))
        if not inside:
            faults.append(f"{where}: <{header}>: {name} must stay in {' or '.join(allowed)}")
        elif not tested:
            used_in[name].append(str(path))
    return faults


def self_test(faults_of):
    headers = {f"{layer}/x.hpp": "#pragma once\n" for layer in ABOVE}
    headers |= {"daemon/protocol.hpp": "#pragma once\n", "analyzer/symbols/protocol.hpp": "#pragma once\n"}
    cases = [  # file, its text, the fault's words (None: allowed)
        ("base/a.cpp", '#include "base/x.hpp"\n#include <vector>\n', None),
        ("base/a.cpp", '#include "collector/x.hpp"\n', "base/ must not include"),
        ("collector/a.cpp", '#include "base/x.hpp"\n', None),
        ("collector/a.hpp", '#  include "analyzer/x.hpp"\n', "collector/ must not include"),
        ("analyzer/deep/a.cpp", '#include "collector/x.hpp"\n', None),
        ("analyzer/a.cpp", '#include "config/x.hpp"\n', "analyzer/ must not include"),
        ("config/a.cpp", '#include "daemon/x.hpp"\n', "config/ must not include"),
        ("daemon/a.cpp", '#include "cli/x.hpp"\n', "daemon/ must not include"),
        ("cli/a.cpp", '#include "daemon/protocol.hpp"\n', None),
        ("cli/a.cpp", '#include "daemon/x.hpp"\n', "cli/ must not include"),
        ("config/a.cpp", '#include "daemon/protocol.hpp"\n', "config/ must not include"),
        ("base/a.cpp", '#include "x.hpp"\n', "not spelled from the top"),
        ("base/a.cpp", '#include "../collector/x.hpp"\n', "not spelled from the top"),
        ("base/a.cpp", '#include "base/gone.hpp"\n', "does not exist"),
        ("tests/base/a_test.cpp", '#include "collector/x.hpp"\n', "base/ must not include"),
        ("tests/base/a_test.cpp", '#include "tests/support/fake.hpp"\n', None),
        ("tests/e2e/a_test.cpp", '#include "daemon/x.hpp"\n#include <boost/asio.hpp>\n', None),
        ("daemon/a.hpp", "#include <boost/asio/ip/tcp.hpp>\n", None),
        ("analyzer/a.hpp", "#include <boost/asio/ip/tcp.hpp>\n", "must stay in daemon/"),
        ("analyzer/a.hpp", "#include <boost/json.hpp>\n", None),
        ("config/a.hpp", "#include <boost/beast.hpp>\n", "must stay in daemon/"),
        ("config/yaml.cpp", "#include <yaml-cpp/yaml.h>\n", None),
        ("daemon/a.cpp", "#include <yaml-cpp/yaml.h>\n", "must stay in config/"),
        ("collector/a.cpp", "#include <perf/evlist.h>\n#include <linux/perf_event.h>\n", None),
        ("analyzer/a.cpp", "#include <linux/perf_event.h>\n", "must stay in collector/"),
        ("cli/a.cpp", "#include <perf/evsel.h>\n", "must stay in collector/"),
        ("analyzer/symbols/elf_file.cpp", "#include <gelf.h>\n", None),
        ("analyzer/symbols/child/a.cpp", '#include <libelf.h>\n#include "analyzer/symbols/protocol.hpp"\n', None),
        ("analyzer/symbols/child/a.cpp", '#include "analyzer/x.hpp"\n', "symbol child must not"),
        ("analyzer/symbols/table.cpp", "#include <elfutils/libdw.h>\n", "must stay in analyzer/symbols/child/"),
        ("analyzer/a.cpp", "#include <elf.h>\n", None),
        ("analyzer/a.cpp", "#include <spdlog/spdlog.h>\n", "must stay in daemon/"),
        ("config/a.cpp", "#include <CLI/CLI.hpp>\n", "must stay in cli/"),
        ("analyzer/a.cpp", "#include <capstone/capstone.h>\n", "must stay in cli/"),
        ("collector/a.cpp", "#include <sqlite3.h>\n", "must stay in daemon/"),
        ("daemon/a.cpp", "#include <protozero/pbf_reader.hpp>\n", "must stay in analyzer/"),
    ]
    for path, text, words in cases:
        tree.expect(faults_of(headers | {path: text}), words, f"{path}: {text!r}")
    twice = {f"daemon/{n}.cpp": "#include <prometheus/registry.h>\n" for n in "ab"}
    tree.expect(faults_of(headers | twice), "included by 2 files (daemon/a.cpp, daemon/b.cpp)", "prometheus twice")


if __name__ == "__main__":
    tree.main(check, self_test)
