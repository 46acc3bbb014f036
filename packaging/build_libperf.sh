#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Builds libperf and libapi (static) from the kernel source that Debian packages, and installs them under PREFIX.
# Debian 12 ships no libperf-dev; where a distribution does, CMake finds that one first and this is not needed.
set -euo pipefail

usage() {
    cat <<'USAGE'
usage: packaging/build_libperf.sh TARBALL PREFIX

TARBALL  the kernel source, e.g. /usr/src/linux-source-6.1.tar.xz
PREFIX   where lib/libperf.a, lib/libapi.a, include/perf and lib/pkgconfig/libperf.pc go; written only when whole
USAGE
}

[[ ${1:-} == --help || ${1:-} == -h ]] && { usage; exit 0; }
[[ $# -eq 2 ]] || { usage >&2; exit 2; }
tarball=$1 prefix=$2
[[ -r $tarball ]] || { echo "build_libperf: $tarball: not readable (apt-get install linux-source-6.1)" >&2; exit 1; }

work=$(mktemp -d)
staged=
trap 'rm -rf "$work" "${staged:-}"' EXIT
log=$work/log

run() {
    "$@" >>"$log" 2>&1 && return
    tail -n 40 "$log" >&2
    echo "build_libperf: failed: $*" >&2
    exit 1
}

echo "libperf: unpacking the parts of $tarball that it needs"
run tar -xf "$tarball" -C "$work" --strip-components=1 --wildcards \
    '*/tools/lib/*' '*/tools/include/*' '*/tools/build/*' '*/tools/scripts/*' '*/tools/arch/*' '*/arch/*/include/uapi/*'

echo "libperf: building"
mkdir -p "$(dirname "$prefix")"
staged=$(mktemp -d "$prefix.XXXXXX")
# The pkg-config file names its prefix, so configure with the final one and install below a staging root.
make_perf=(make -C "$work/tools/lib/perf" prefix="$prefix" libdir_relative=lib DESTDIR="$staged" V=0)
run "${make_perf[@]}" install_lib install_headers install_pkgconfig
run make -C "$work/tools/lib/api" V=0
install -m 644 "$work/tools/lib/api/libapi.a" "$staged$prefix/lib/libapi.a"

[[ -f $staged$prefix/lib/libperf.a && -f $staged$prefix/lib/pkgconfig/libperf.pc ]] ||
    { echo "build_libperf: the build left no libperf.a or libperf.pc" >&2; exit 1; }
# A shared libperf beside the archive would win at link time.
rm -f "$staged$prefix"/lib/libperf.so*
rm -rf "$prefix"
mv "$staged$prefix" "$prefix"
chmod 755 "$prefix"
echo "libperf: installed in $prefix"
