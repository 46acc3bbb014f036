#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The Debian package on a real Debian with systemd, in a virtual machine: ./dev vm service. Installs it with apt, watches
# the service through its life, and purges it. Takes some minutes; with OUT given, what the machine left stays there.
set -euo pipefail

if [[ ${1:-} == --help || ${1:-} == -h ]]; then
    echo "usage: packaging/vm/service.sh [BUILD [OUT]]"
    exit 0
fi
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
build=${1:-$here/../../build/release}
packages=$(mktemp -d "${TMPDIR:-/tmp}/perfvigil-vm.XXXXXX")
trap 'rm -rf "$packages"' EXIT

# As ./dev package makes it, but for the debug symbols, which take minutes to pack and show nothing.
DEB_BUILD_OPTIONS=noautodbgsym bash "$here/../deb.sh" "$build" "$packages" >/dev/null
mv "$packages"/perfvigil_*.deb "$packages/perfvigil.deb"
# The next version: another number, and another text of the configuration that it ships.
dpkg-deb -R "$packages/perfvigil.deb" "$packages/next"
sed -i 's/^Version: .*/&+next/' "$packages/next/DEBIAN/control"
echo "# The next version says more." >>"$packages/next/etc/perfvigil/perfvigil.yaml"
(cd "$packages/next" && find usr lib -type f -print0 | xargs -0 md5sum >DEBIAN/md5sums)
dpkg-deb --root-owner-group -Zgzip -b "$packages/next" "$packages/perfvigil-next.deb" >/dev/null

# The machine has no network: what the package depends on is in its image. Of alternatives the first is taken.
vm_kind=systemd
mapfile -t vm_more_packages < <(dpkg-deb -f "$packages/perfvigil.deb" Pre-Depends Depends |
    sed 's/^[A-Za-z-]*: //' | tr ',' '\n' | sed 's/|.*//; s/(.*)//; s/[[:space:]]//g' | grep . | sort -u)
# shellcheck source=packaging/vm/image.sh
source "$here/image.sh"

vm_image
vm_begin
trap 'rm -rf "$packages"; vm_end' EXIT
out=${2:-$vm_work/out}
vm_add "$here/guest/service"
vm_add "$packages/perfvigil.deb"
vm_add "$packages/perfvigil-next.deb"
started=$SECONDS
vm_run service "${vm_seconds:-1200}" "$out"
echo "the machine ran for $((SECONDS - started)) s"
python3 "$here/judge_service.py" "$out"
