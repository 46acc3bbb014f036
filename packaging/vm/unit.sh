#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The unit tests of the arm64 build, on an emulated machine of that architecture: ./dev vm unit.
# Takes its time; with OUT given, what the machine left stays there. TEST... are names of test programs: all by default.
set -euo pipefail

if [[ ${1:-} == --help || ${1:-} == -h ]]; then
    echo "usage: packaging/vm/unit.sh [BUILD [OUT [TEST...]]]"
    exit 0
fi
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source=$(cd "$here/../.." && pwd)
build=$(realpath "${1:-$source/build/arm64}")
# shellcheck disable=SC2034 # for image.sh
vm_arch=arm64
# shellcheck disable=SC2034
vm_memory=2048
# shellcheck source=packaging/vm/image.sh
source "$here/image.sh"

vm_image
vm_begin
trap vm_end EXIT
out=${2:-$vm_work/out}
tests=("${@:3}")
[[ ${#tests[@]} -gt 0 ]] || tests=(test_base test_collector test_analyzer test_config test_daemon test_cli test_property)

# The tests look for the checkout and the programs where they were built.
tree=$vm_work/pv/tree
mkdir -p "$tree" "$vm_work/pv/built/clients"
# A place to mount the programs on, where they lie inside the checkout, which is read-only there.
[[ $build != "$source"/* ]] || mkdir -p "$tree/${build#"$source"/}"
git -C "$source" ls-files -z | tar -C "$source" -c --null -T - --ignore-failed-read 2>/dev/null | tar -C "$tree" -x
strip() { aarch64-linux-gnu-strip --strip-debug -o "$2/$(basename "$1")" "$1"; }
for program in "${tests[@]}"; do
    strip "$build/$program" "$vm_work/pv/bin"
done
# Beside its tests, where whoever asks for names looks for it.
strip "$build/perfvigil-symbols" "$vm_work/pv/bin"
for program in perfvigil perfvigild perfvigil-symbols; do
    [[ ! -e $build/$program ]] || strip "$build/$program" "$vm_work/pv/built"
done
# As they are: some tests read their debug information.
cp -a "$build"/clients/. "$vm_work/pv/built/clients/"
printf '%s\n%s\n' "$source" "$build" >"$vm_work/pv/places"
printf '%s\n' "${tests[@]}" >"$vm_work/pv/tests"
vm_add "$here/guest/unit"

started=$SECONDS
vm_run unit "${vm_seconds:-3000}" "$out"
echo "the machine ran for $((SECONDS - started)) s"
python3 "$here/judge_unit.py" "$out" "${tests[@]}"
