// SPDX-License-Identifier: GPL-2.0-or-later
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>

#include "analyzer/capture_analysis.hpp"
#include "analyzer/report.hpp"
#include "base/text.hpp"
#include "cli/client.hpp"
#include "cli/commands.hpp"
#include "collector/capture_reader.hpp"
#include "daemon/protocol.hpp"

namespace perfvigil::cli {
namespace {

Result<analyzer::Profile> profile_of_file(const std::string& path) {
    auto reader = collector::CaptureReader::open(path);
    if (!reader) return fail(std::move(reader.error()));
    return analyzer::analyze_capture(**reader, std::string(base_name(path)), system_clock());
}

int report_file(const ReportCommandOptions& options) {
    const auto profile = profile_of_file(options.source);
    if (!profile) return complain(profile.error());
    if (options.format == OutputFormat::kJson) {
        fmt::print("{}", report_json(*profile, {.top = options.top.value_or(0)}));
        return kDone;
    }
    fmt::print("{}", report_text(*profile,
                                 {.top = options.top.value_or(analyzer::ReportOptions{}.top),
                                  .width = output_width(),
                                  .idle = options.idle ? analyzer::IdleRows::kInclude : analyzer::IdleRows::kExclude}));
    return kDone;
}

int report_window(const ReportCommandOptions& options) {
    if (!std::ranges::all_of(options.source, [](unsigned char c) { return std::isalnum(c) != 0 || c == '-'; })) {
        return complain({ErrorCode::kInvalid, 0, options.source + ": neither a file nor the id of a window"}, kUsage);
    }
    const bool json = options.format == OutputFormat::kJson;
    auto target = fmt::format("{}/{}/{}?format={}&idle={}", protocol::kWindows, options.source, protocol::kReport,
                              json ? "json" : "text", options.idle);
    if (!json) target += fmt::format("&width={}", output_width());
    if (options.top) target += fmt::format("&top={}", *options.top);
    const auto reply = get(options.socket, target);
    if (!reply) return complain(reply.error());
    fmt::print("{}", reply->body);
    return kDone;
}

// What no window id can be: a path, or standard input. A file of the working folder wins over a window of its name.
bool names_a_file(const std::string& source) {
    return source == "-" || source.find('/') != std::string::npos || source.find('.') != std::string::npos ||
           ::access(source.c_str(), F_OK) == 0;
}

}  // namespace

int run_report(const ReportCommandOptions& options) {
    return names_a_file(options.source) ? report_file(options) : report_window(options);
}

}  // namespace perfvigil::cli
