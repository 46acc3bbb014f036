#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Names of kernel modules, BPF programs and kernel code on a real Debian kernel, and a CPU of it that goes and comes
# back, in a virtual machine: ./dev vm symbols.
# Takes some minutes; with OUT given, what the machine left stays there.
set -euo pipefail

if [[ ${1:-} == --help || ${1:-} == -h ]]; then
    echo "usage: packaging/vm/symbols.sh [BUILD [OUT]]"
    exit 0
fi
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
build=$(realpath "${1:-$here/../../build/release}")
# shellcheck disable=SC2034 # for image.sh
vm_cpus=2
# shellcheck source=packaging/vm/image.sh
source "$here/image.sh"

vm_image
vm_begin
trap vm_end EXIT
out=${2:-$vm_work/out}
vm_add "$here/guest/symbols"
vm_add_program "$build"/{perfvigil,perfvigild,perfvigil-symbols,test_kernel,test_e2e,clients/bpf_spin}
strip --strip-debug "$vm_work"/pv/bin/{perfvigil,perfvigild,test_kernel,test_e2e}
# Tests look for programs where they were built.
vm_add "$build/clients/spin" bin/clients
echo "$build" >"$vm_work/pv/built"
started=$SECONDS
vm_run symbols "${vm_seconds:-1200}" "$out"
echo "the machine ran for $((SECONDS - started)) s"
python3 "$here/judge_symbols.py" "$out"
