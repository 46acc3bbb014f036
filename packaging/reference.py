#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Manuals and bash completion, made of what the programs say about themselves.

usage: reference.py --version V PERFVIGIL PERFVIGILD TEMPLATES OUT

A command or option that --help shows, and a key that --print-config shows, needs nothing else to be in them. In
TEMPLATES/*.in these words on a line of their own are replaced: @OPTIONS@ (of the program itself), @COMMANDS@ (each
command of perfvigil with its options) and @KEYS@ (of the configuration); @VERSION@ anywhere.
"""

import argparse
import collections
import pathlib
import re
import subprocess

Option = collections.namedtuple("Option", "names value text")  # names empty: a positional, told by value
Command = collections.namedtuple("Command", "name text usage options footer")
Key = collections.namedtuple("Key", "path value text")

COLUMN = 30  # CLI11 begins descriptions there, on the next line where names reach that far


def said_by(*command):
    return subprocess.run(command, capture_output=True, check=True).stdout


def entries(lines):
    """[(what stands on the left, the text on the right)] of CLI11's two columns."""
    found = []
    for line, following in zip(lines, [*lines[1:], b""]):
        if line.startswith(b" " * COLUMN) and found:
            found[-1][1].append(line)
        elif line.startswith(b"  ") and line[2:3].strip():
            # A name of 29 bytes is padded with one space; a longer one may have a space there by chance.
            padded = line[COLUMN - 2:COLUMN] == b"  "
            by_one = line[COLUMN - 1:COLUMN] == b" " and not following.startswith(b" " * COLUMN)
            at = COLUMN if padded or by_one else len(line)
            found.append((line[:at], [line[at:]]))
    return [(left.decode().strip(), b" ".join(filter(None, map(bytes.strip, right))).decode()) for left, right in found]


def sections(help_text):
    """{heading: lines}, in bytes as CLI11 counts columns; the description is "", what follows the options "Footer"."""
    found = {"": []}
    heading = ""
    for line in help_text.splitlines():
        if heading != "Footer" and (match := re.fullmatch(rb"(\S.*):\s*", line)):
            heading = match[1].decode()
            found[heading] = []
            continue
        if line.startswith(b"Usage: "):
            heading = "Usage"
            line = line.removeprefix(b"Usage: ")
        elif heading not in ("", "Usage") and line[:1].strip():
            heading = "Footer"
        found.setdefault(heading, []).append(line)
    return found


def option(left, text):
    left, *without = re.split(r"\s*\bExcludes: ", left)
    if without:
        text += f" (not with {without[0].replace(' ', ', ')})"
    names, _, value = left.partition(" ")
    if not names.startswith("-"):
        return Option([], left, text)
    return Option(names.split(","), value.strip(), text)


def options_of(parts):
    return [option(*entry) for heading, lines in parts.items() if heading not in ("", "Usage", "Subcommands", "Footer")
            for entry in entries(lines)]


def commands_of(program):
    """The program's own options, and its commands."""
    top = sections(said_by(program, "--help"))
    commands = []
    for name, text in entries(top.get("Subcommands", [])):
        parts = sections(said_by(program, name, "--help"))
        usage = b" ".join(parts["Usage"]).decode().partition(f" {name}")[2]
        footer = [line.decode().rstrip() for line in parts.get("Footer", []) if line.strip()]
        commands.append(Command(name, text, " ".join(usage.split()), options_of(parts), footer))
    return options_of(top), commands


def daemon_options(program):
    """Of perfvigild's own usage text: names, spaces, description."""
    found = []
    for line in said_by(program, "--help").decode().splitlines():
        if match := re.match(r"  (--[\w-]+)(?: ([A-Z]+))?(?:\s{2,}(.*))?$", line):
            found.append(Option([match[1]], match[2] or "", match[3] or ""))
    return found


def keys_of(program):
    """Of perfvigild --print-config: each key below the comment that explains it."""
    found, comment, path = [], [], []
    for line in said_by(program, "--print-config").decode().splitlines():
        indent = (len(line) - len(line.lstrip())) // 2
        if line.lstrip().startswith("#"):
            comment.append(line.lstrip("# ").rstrip())
        elif match := re.match(r"\s*([\w-]+):\s*(.*)$", line):
            path = [*path[:indent], match[1]]
            if match[2]:
                found.append(Key(".".join(path), match[2], " ".join(comment)))
            comment = []
        elif not line.strip():
            comment = []
    return found


# --- roff

def roff(text):
    """Text as roff prints it: nothing in it is a request or an escape."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    text = re.sub(r"[^\x00-\x7f]", lambda match: f"\\[u{ord(match[0]):04X}]", text)
    return re.sub(r"(?m)^(?=[.'])", r"\\&", text)


def tagged(tag, text):
    return f".TP\n{tag}\n{roff(text) or chr(92) + '&'}\n"


def option_tag(one):
    names = ", ".join(f"\\fB{roff(name)}\\fR" for name in one.names)
    value = f"\\fI{roff(one.value)}\\fR" if one.value else ""
    return " ".join(filter(None, (names, value)))


def roff_options(options):
    return "".join(tagged(option_tag(one), one.text) for one in options)


def roff_command(one):
    footer = "".join(f".PP\n{roff(line)}\n" if line[0] != " " else f".br\n{roff(line)}\n" for line in one.footer)
    return (f".SS {one.name}\n{roff(one.text)}.\n.PP\n\\fBperfvigil {one.name}\\fR {roff(one.usage)}\n"
            f"{roff_options(one.options)}{footer}")


def roff_keys(keys):
    return "".join(tagged(f"\\fB{roff(key.path)}\\fR: {roff(key.value)}", key.text) for key in keys)


def fill(template, words):
    for word, text in words.items():
        template = template.replace(f"@{word}@\n", text)
    return template


# --- bash

def choices(one):
    """The words that an option's value is one of: CLI11's "{a,b}", "a|b", or a text that lists them and no more."""
    if match := re.search(r"\{([^{}]+)\}", one.value):
        return match[1].split(",")
    listed = re.sub(r"\s*\([^()]*\)$", "", one.text)
    for words in (one.value.split(" ")[0].split("|"), re.split(r", | or ", listed)):
        if len(words) > 1 and all(re.fullmatch(r"[\w.-]+", word) for word in words):
            return words
    return []


def quoted(words):
    return "'" + " ".join(words) + "'"


COMPLETION = r"""# bash completion of perfvigil, made of its --help               -*- shell-script -*-
# SPDX-License-Identifier: GPL-2.0-or-later
_perfvigil()
{
    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} command='' word
    local -i at
    # Bash makes three words of --option=value.
    if [[ $current == = ]]; then
        current=''
    elif [[ $previous == = && $COMP_CWORD -ge 2 ]]; then
        previous=${COMP_WORDS[COMP_CWORD - 2]}
    fi
    for ((at = 1; at < COMP_CWORD; at++)); do
        word=${COMP_WORDS[at]}
        # What follows is another program's.
        [[ $word != -- ]] || return 0
        [[ -n $command || $word == -* ]] || command=$word
    done
    local options='' values=''
    case $command in
@CASES@    esac
    case $command:$previous in
@VALUES@    esac
    if [[ -n $values ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$values" -- "$current")
    elif [[ $current == -* || -z $command ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$options" -- "$current")
    fi
}
complete -o default -F _perfvigil perfvigil
"""


def completion(own, commands):
    cases, values = [], []
    for name, options in [("", own), *((one.name, one.options) for one in commands)]:
        words = [n for one in options for n in one.names]
        if not name:
            words = [one.name for one in commands] + words
        cases.append(f"        {quoted([name]) if not name else name}) options={quoted(words)} ;;\n")
        for one in options:
            if one.names and one.value and (known := choices(one)):
                patterns = " | ".join(f"{name}:{n}" for n in one.names)
                values.append(f"        {patterns}) values={quoted(known)} ;;\n")
    return COMPLETION.replace("@CASES@", "".join(cases)).replace("@VALUES@", "".join(values))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--version", required=True)
    for name in ("perfvigil", "perfvigild", "templates", "out"):
        parser.add_argument(name)
    given = parser.parse_args()
    own, commands = commands_of(given.perfvigil)
    words = {
        "perfvigil.1": {"OPTIONS": roff_options(own), "COMMANDS": "".join(map(roff_command, commands))},
        "perfvigild.8": {"OPTIONS": roff_options(daemon_options(given.perfvigild))},
        "perfvigil.yaml.5": {"KEYS": roff_keys(keys_of(given.perfvigild))},
    }
    out = pathlib.Path(given.out)
    out.mkdir(parents=True, exist_ok=True)
    for page, replaced in words.items():
        template = (pathlib.Path(given.templates) / f"{page}.in").read_text()
        (out / page).write_text(fill(template, replaced).replace("@VERSION@", given.version))
    (out / "perfvigil.bash").write_text(completion(own, commands))


if __name__ == "__main__":
    main()
