#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Unpacks Debian 12's arm64 packages into a folder: the libraries that the preset arm64 is built against, and what its
# virtual machine runs. Nothing of it is executed here, so no emulation of programs is needed. Quick when it is there.
set -euo pipefail
[[ $# -eq 1 ]] || { echo "usage: packaging/vm/make_arm64_root.sh DIR" >&2; exit 2; }
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$1
run_packages=(
    linux-image-arm64 linux-perf busybox-static dash bash coreutils tar libc-bin mount procps findutils grep sed mawk
    kmod util-linux binutils diffutils zstd xz-utils base-files tzdata sqlite3
)
dev_packages=(
    libc6-dev libstdc++-12-dev libboost1.81-dev libboost-json1.81-dev libcli11-dev libyaml-cpp-dev libfmt-dev
    libspdlog-dev libsqlite3-dev prometheus-cpp-dev libprotozero-dev zlib1g-dev libzstd-dev libelf-dev libdw-dev
    libiberty-dev liblzma-dev libcapstone-dev libgtest-dev libgmock-dev libbenchmark-dev
)
recipe=$({ printf '%s\n' "${run_packages[@]}" "${dev_packages[@]}" && cat "$here/../build_libperf.sh"; } | sha256sum | cut -c1-12)
[[ $(cat "$root/recipe" 2>/dev/null) != "$recipe" ]] || exit 0
echo "arm64: unpacking Debian's packages into $root (two minutes, once)"
rm -rf "$root"
mkdir -p "$root"
# shellcheck disable=SC2016 # the hook is a script of its own, whose $1 is the new root
mmdebstrap --quiet --architectures=arm64 --variant=extract \
    --include="$(IFS=,; echo "${run_packages[*]},${dev_packages[*]}")" \
    --setup-hook='for d in bin sbin lib; do mkdir -p "$1/usr/$d" && ln -s "usr/$d" "$1/$d"; done' \
    bookworm "$root"
# Links that start at / lead the cross compiler into this machine's own folders.
find "$root/usr/lib" -lname '/*' | while read -r link; do
    ln -sfnr "$root$(readlink "$link")" "$link"
done
# Inside the root, so that pkg-config takes its paths as they are.
ARCH=arm64 CROSS_COMPILE=aarch64-linux-gnu- "$here/../build_libperf.sh" /usr/src/linux-source-6.1.tar.xz "$root/libperf"
echo "$recipe" >"$root/recipe"
