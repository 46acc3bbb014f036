#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# usage: deb.sh BUILD OUT
#
# Packs the programs of a build folder as perfvigil_VERSION_ARCH.deb (and -dbgsym) into OUT.
set -euo pipefail

source=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=$(realpath "$1")
mkdir -p "$2"
out=$(realpath "$2")
work=$(mktemp -d "${TMPDIR:-/tmp}/perfvigil-deb.XXXXXX")
trap 'rm -rf "$work"' EXIT

mkdir "$work/perfvigil"
cp -a "$source/packaging/debian" "$work/perfvigil/debian"
cd "$work/perfvigil"
# The commit's time: the same tree makes the same package.
if time=$(git -C "$source" log -1 --format=%ct 2>/dev/null); then export SOURCE_DATE_EPOCH=$time; fi
PERFVIGIL_BUILD=$build dpkg-buildpackage --build=binary --no-sign >"$work/log" 2>&1 || {
    cat "$work/log" >&2
    exit 1
}
cp "$work"/perfvigil*.deb "$out/"
ls "$out"/perfvigil_*.deb
