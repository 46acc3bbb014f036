// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/span_arguments.hpp"

#include "base/time.hpp"
#include "cli/profile_source.hpp"
#include "cli/stored_windows.hpp"

namespace perfvigil::cli {

void add_span(CLI::App& command, SpanArguments& span, CLI::Option* source) {
    auto* since = command
                      .add_option("--since", span.since,
                                  "all that the daemon keeps from then on: 2h (ago), 1d, 09:00, '2026-11-29 09:00', in "
                                  "this time zone (with a Z: UTC)")
                      ->option_text("TIME");
    command.add_option("--until", span.until, "up to then (default: now)")->option_text("TIME")->needs(since);
    if (source != nullptr) since->excludes(source);
}

Result<analyzer::Profile> profile_of_arguments(const SpanArguments& span, const std::string& source,
                                               const std::string& socket, const analyzer::LoadOptions& load) {
    if (span.since.empty()) return profile_from(source, socket, load);
    if (load.samples.selects() || load.samples.tells_apart()) return fail(windows_have_no_samples("--since"));
    const auto asked = wall_span(span.since, span.until, system_clock().wall());
    if (!asked) return fail(asked.error());
    return profile_of(*asked, socket);
}

}  // namespace perfvigil::cli
