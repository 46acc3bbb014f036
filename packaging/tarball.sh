#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# usage: tarball.sh BUILD OUT
#
# Packs the programs of a build folder for hosts without dpkg: OUT/perfvigil-VERSION-ARCH.tar.gz, to be unpacked at /,
# holds usr/local and nothing else. docs/install.md says what comes after.
set -euo pipefail

build=$(realpath "$1")
mkdir -p "$2"
out=$(realpath "$2")
work=$(mktemp -d "${TMPDIR:-/tmp}/perfvigil-tar.XXXXXX")
trap 'rm -rf "$work"' EXIT

DESTDIR=$work cmake --install "$build" --prefix /usr/local --strip >/dev/null
# The configuration is the administrator's: unpacking a new version must not replace it. Its example stays.
rm -rf "${work:?}/etc"
version=$("$work/usr/local/bin/perfvigil" --version | awk '{ print $2 }')
name=perfvigil-$version-$(uname -m).tar.gz
tar -C "$work" --owner=root --group=root --sort=name -czf "$out/$name" usr
echo "$out/$name"
