#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# clang-format over our C++ (with --fix: in place). Exit 77, "skipped", where clang-format 19 is missing: another
# version formats differently.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

if ! command -v clang-format-19 >/dev/null; then
    echo "Skipped: clang-format-19 is not installed (./dev deps)"
    exit 77
fi
mode=(--dry-run -Werror --ferror-limit=3)
[[ ${1:-} != --fix ]] || mode=(-i)
folders=()
for folder in base collector analyzer config daemon cli tests; do
    [[ ! -d $folder ]] || folders+=("$folder")
done
find "${folders[@]}" -path tests/fixtures -prune -o \( -name '*.[ch]pp' -o -name '*.[ch]' \) -print0 |
    xargs -0 -r clang-format-19 "${mode[@]}"
