#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The Prometheus rules are well formed, each alert fires where it must and not where it must not.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

promtool=${PERFVIGIL_PROMTOOL:-$(command -v promtool || echo "$HOME/.cache/perfvigil/bin/promtool")}
if [[ ! -x $promtool ]]; then
    echo "Skipped: promtool is missing: ./dev deps test"
    exit 77
fi
"$promtool" check rules packaging/prometheus/perfvigil.rules.yaml
"$promtool" test rules packaging/prometheus/*_test.yaml

# Each alert has a case that fires and one that does not.
status=0
while read -r alert; do
    cases=$(grep -h -A1 "alertname: $alert" packaging/prometheus/*_test.yaml)
    grep -q 'exp_alerts:$' <<<"$cases" || { echo "$alert: no case that fires" && status=1; }
    grep -q 'exp_alerts: \[\]' <<<"$cases" || { echo "$alert: no case that does not fire" && status=1; }
done < <(awk '$1 == "-" && $2 == "alert:" { print $3 }' packaging/prometheus/perfvigil.rules.yaml)
exit $status
