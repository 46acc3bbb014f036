#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# check_format.sh must object to a badly formatted file: a copy of the script beside one proves it.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
mkdir -p "$tree/tests/lint" "$tree/base"
cp "$here/check_format.sh" "$tree/tests/lint/"
cp "$here/../../.clang-format" "$tree/"

expect() {
    local want=$1 got=0
    bash "$tree/tests/lint/check_format.sh" >/dev/null 2>&1 || got=$?
    [[ $got -ne 77 ]] || { echo "Skipped: clang-format-19 is not installed (./dev deps)" && exit 77; }
    [[ $((got != 0)) -eq $want ]] || { echo "check_format.sh: exit $got on: $(<"$tree/base/a.cpp")" >&2 && exit 1; }
}
echo 'int main() { return 0; }' >"$tree/base/a.cpp"
expect 0
echo 'int  main( ){return 0;}' >"$tree/base/a.cpp"
expect 1
