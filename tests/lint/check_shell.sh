#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Runs shellcheck over our scripts: dev, .ci/run and every .sh outside the build folders.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

if ! command -v shellcheck >/dev/null; then
    echo "Skipped: shellcheck is not installed (./dev deps)"
    exit 77
fi
mapfile -d '' -t scripts < <(find packaging tests -name '*.sh' -print0)
shellcheck dev .ci/run "${scripts[@]}"
