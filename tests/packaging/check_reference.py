#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The manuals and the completion against the programs: nothing is missing from them and nothing is in them that is not.

usage: check_reference.py PERFVIGIL PERFVIGILD CONFIG REFERENCE   (CONFIG: the shipped perfvigil.yaml)
"""

import pathlib
import re
import subprocess
import sys

OPTION = re.compile(r"(?<![\w-])--?[a-zA-Z][\w-]*")


def run(*command, **how):
    return subprocess.run(command, capture_output=True, text=True, check=True, **how).stdout


def options_in_help(text):
    """Of the lines that begin with one, the words that stand at their beginning."""
    found = set()
    for line in text.splitlines():
        if match := re.match(r"  (-\S+)", line):
            found |= set(OPTION.findall(match[1]))
    return found


def help_of(program):
    """{command: its options}; "" is the program itself."""
    top = run(program, "--help")
    names = re.findall(r"(?m)^  ([a-z]\S*)", top.partition("Subcommands:")[2])
    return {"": options_in_help(top), **{name: options_in_help(run(program, name, "--help")) for name in names}}


def tags(page):
    """What stands in bold behind each .TP, by section and subsection of the roff source."""
    found, where = {}, ("", "")
    lines = page.splitlines()
    for line, following in zip(lines, [*lines[1:], ""]):
        if line.startswith(".SH "):
            where = (line[4:], "")
        elif line.startswith(".SS "):
            where = (where[0], line[4:])
            found.setdefault(where, [])
        elif line == ".TP":
            found.setdefault(where, []).append(following.replace("\\-", "-").replace("\\fB", "").replace("\\fR", ""))
    return found


def differences(about, wanted, got):
    faults = [f"{about}: {word} is missing" for word in sorted(wanted - got)]
    return faults + [f"{about}: there is no {word}" for word in sorted(got - wanted)]


def options_of(found, section, subsection=""):
    return {name for tag in found.get((section, subsection), []) for name in OPTION.findall(tag.partition(" \\fI")[0])}


def check_perfvigil(page, helps):
    found = tags(page)
    faults = differences("perfvigil(1)", {name for name in helps if name},
                         {sub for section, sub in found if section == "COMMANDS" and sub})
    for name, wanted in helps.items():
        got = options_of(found, "COMMANDS", name) if name else options_of(found, "OPTIONS")
        faults += differences(f"perfvigil(1) {name}".strip(), wanted, got)
    return faults


def check_perfvigild(page, text):
    return differences("perfvigild(8)", options_in_help(text), options_of(tags(page), "OPTIONS"))


def check_yaml(page, config):
    path, wanted = [], {}
    for line in config.splitlines():
        if match := re.match(r"( *)([\w-]+):(.*)$", line):
            path = [*path[:len(match[1]) // 2], match[2]]
            if match[3].strip():
                wanted[".".join(path)] = match[3].strip()
    got = dict(tag.split(": ", 1) for tag in tags(page).get(("KEYS", ""), []))
    faults = differences("perfvigil.yaml(5)", set(wanted), set(got))
    return faults + [f"perfvigil.yaml(5): {key} is {value}" for key, value in wanted.items()
                     if key in got and got[key] != value]


def completed(script, line):
    """What bash offers at the end of a command line; it splits words at '=' by itself."""
    words = [word for part in line.split(" ") for word in re.split(r"(=)", part) if word or part == ""]
    if line.endswith("="):
        words.append("=") if words[-1] != "=" else None
    driver = ('. "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=(); _perfvigil; '
              'printf "%s\\n" "${COMPREPLY[@]}"')
    return set(run("bash", "--norc", "-c", driver, "bash", str(script), *words).split())


def check_completion(script, helps):
    commands = {name for name in helps if name}
    faults = differences("completion of a command", commands | helps[""], completed(script, "perfvigil "))
    for name in commands:
        faults += differences(f"completion of {name}", helps[name], completed(script, f"perfvigil {name} -"))
        shorter = {option for option in helps[name] if option.startswith("--s")}
        faults += differences(f"completion of {name} --s", shorter, completed(script, f"perfvigil {name} x --s"))
    # Values, as words of their own and behind '='; none of another program's.
    for line, wanted in [("perfvigil export --to flame", {"flamegraph.svg", "flamegraph.html"}),
                         ("perfvigil export --to=pp", {"pprof"}), ("perfvigil doctor --fix ", {"sysctl"}),
                         ("perfvigil rep", {"report"}), ("perfvigil record -- ls -", set()),
                         ("perfvigil report some", set())]:
        faults += differences(f"completion of '{line}'", wanted, completed(script, line))
    return faults


def check(helps, daemon_help, config, reference):
    pages = {page: (reference / page).read_text() for page in ("perfvigil.1", "perfvigild.8", "perfvigil.yaml.5")}
    faults = check_perfvigil(pages["perfvigil.1"], helps) + check_perfvigild(pages["perfvigild.8"], daemon_help)
    faults += check_yaml(pages["perfvigil.yaml.5"], config) + check_completion(reference / "perfvigil.bash", helps)
    for page, text in pages.items():
        for word in re.findall(r"@[A-Z]+@", text):
            faults.append(f"{page}: {word} was not replaced")
    return faults, pages


def self_test(pages, helps, daemon_help, config):
    """What the comparison must find: an option or key too many or too few."""
    top = pages["perfvigil.1"].replace(".TP\n\\fB\\-\\-top\\fR \\fIUINT\\fR\n", "", 1)
    assert check_perfvigil(top, helps) == ["perfvigil(1) report: --top is missing"], check_perfvigil(top, helps)
    more = pages["perfvigild.8"].replace(".SH RIGHTS", ".TP\n\\fB\\-\\-fast\\fR\nx\n.SH RIGHTS")
    assert check_perfvigild(more, daemon_help) == ["perfvigild(8): there is no --fast"]
    assert check_yaml(pages["perfvigil.yaml.5"], config + "extra:\n  key: 1\n") == [
        "perfvigil.yaml(5): extra.key is missing"]
    assert check_yaml(pages["perfvigil.yaml.5"], config.replace("max_stack: 127", "max_stack: 64")) == [
        "perfvigil.yaml(5): recording.max_stack is 64"]


def main():
    perfvigil, perfvigild, config, reference = sys.argv[1:]
    config = pathlib.Path(config).read_text()
    helps, daemon_help = help_of(perfvigil), run(perfvigild, "--help")
    faults, pages = check(helps, daemon_help, config, pathlib.Path(reference))
    for fault in faults:
        print(fault)
    if faults:
        sys.exit(f"check_reference.py: {len(faults)} faults")
    self_test(pages, helps, daemon_help, config)
    print(f"{len(helps) - 1} commands, {sum(map(len, helps.values()))} options")


if __name__ == "__main__":
    main()
