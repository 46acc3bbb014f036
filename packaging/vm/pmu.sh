#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A real cycle counter: the arm64 build on an emulated machine with armv8_pmuv3 and two CPUs: ./dev vm pmu.
# Takes some minutes; with OUT given, what the machine left stays there.
set -euo pipefail

if [[ ${1:-} == --help || ${1:-} == -h ]]; then
    echo "usage: packaging/vm/pmu.sh [BUILD [OUT]]"
    exit 0
fi
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
build=${1:-$here/../../build/arm64}
# shellcheck disable=SC2034 # for image.sh
vm_arch=arm64
# shellcheck source=packaging/vm/image.sh
source "$here/image.sh"
# Time as the machine knows it is counted in instructions, 2 ns each: timers fire on time and the counter runs at 1 GHz
# however busy the host is.
vm_machine+=(-icount "shift=1,sleep=on")
# The kernel adjusts the period of cycles by the tick. On a CPU that has none for as long as it idles, and counts on, it
# grows to seconds, and what a recording's last one would have stood for is missing.
# shellcheck disable=SC2034 # for image.sh
vm_cmdline=nohz=off

vm_image
vm_begin
trap vm_end EXIT
out=${2:-$vm_work/out}
vm_add "$here/guest/pmu"
vm_add_program "$build/perfvigil" "$build/perfvigil-symbols" "$build/clients/busy_load"
started=$SECONDS
vm_run pmu "${vm_seconds:-900}" "$out"
echo "the machine ran for $((SECONDS - started)) s"
python3 "$here/judge_pmu.py" "$out"
