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
folders=()
for folder in base collector analyzer config daemon cli tests; do
    [[ ! -d $folder ]] || folders+=("$folder")
done
mapfile -d '' -t files < <(find "${folders[@]}" -path tests/fixtures -prune -o \( -name '*.[ch]pp' -o -name '*.[ch]' \) -print0)
[[ ${#files[@]} -gt 0 ]] || exit 0
if [[ ${1:-} == --fix ]]; then
    clang-format-19 -i "${files[@]}"
    exit 0
fi
unformatted=$(clang-format-19 --dry-run "${files[@]}" 2>&1 | sed -n 's/: warning: code should be clang-formatted.*//p')
[[ -n $unformatted ]] || exit 0
echo "Not formatted (./dev lint --fix), file:line:column of each first difference:" >&2
sort -t: -k1,1 -u <<<"$unformatted" >&2
exit 1
