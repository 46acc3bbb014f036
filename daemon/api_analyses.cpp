// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/api_analyses.hpp"

#include <array>
#include <optional>
#include <utility>

#include "analyzer/chain_ends.hpp"
#include "analyzer/diff.hpp"
#include "analyzer/diff/report.hpp"
#include "analyzer/export/event_choice.hpp"
#include "analyzer/export/folded.hpp"
#include "analyzer/export/pprof.hpp"
#include "analyzer/export/speedscope.hpp"
#include "analyzer/name_selection.hpp"
#include "analyzer/profile/codec.hpp"
#include "base/text.hpp"
#include "base/time.hpp"
#include "daemon/analysis_desk.hpp"
#include "daemon/protocol.hpp"
#include "daemon/raw_captures.hpp"
#include "daemon/stored_profiles.hpp"

namespace perfvigil::daemon::api {
namespace {

using analyzer::IdleRows;
using analyzer::Profile;

constexpr std::size_t kMostDiffRows = 10000;
constexpr std::string_view kBinaryType = "application/octet-stream";

enum class ExportFormat : std::uint8_t { kPprof, kFolded, kSpeedscope };
constexpr auto kFormats = std::to_array<std::pair<std::string_view, ExportFormat>>(
    {{"pprof", ExportFormat::kPprof}, {"folded", ExportFormat::kFolded}, {"speedscope", ExportFormat::kSpeedscope}});

Response later(const Request& request, Source& source, AnalysisDesk::Work work) {
    // Nothing is worked out for somebody who wants the head alone.
    if (request.method == "HEAD") return {.content_type = protocol::kJsonType};
    auto answer = source.analyses().ask(std::move(work));
    if (answer) return {.later = std::move(answer)};
    auto refused = refuse(request, 429, "too many wait for an analysis already");
    refused.headers.emplace_back("Retry-After", "5");
    return refused;
}

Response refusal_of(const Error& error) {
    switch (error.code) {
        case ErrorCode::kNotFound: return refuse_inner(404, error.message);
        case ErrorCode::kInvalid: return refuse_inner(400, error.message);
        case ErrorCode::kBusy: return refuse_inner(503, error.message);
        default: return refuse_inner(500, error.message);
    }
}

// since and until, both.
struct StretchParameters {
    std::optional<WallTime> since{};
    std::optional<WallTime> until{};

    [[nodiscard]] std::optional<WallStretch> stretch() const {
        if (!since || !until || *since >= *until) return std::nullopt;
        return WallStretch{*since, *until};
    }
};
constexpr std::string_view kWantsStretch =
    "since and until must be times in nanoseconds since 1970, the first before the "
    "second";

// Whether the parameter is one of them.
Result<bool> take_time(StretchParameters& times, std::string_view name, std::string_view value) {
    if (name != "since" && name != "until") return false;
    const auto number = parse_number<std::int64_t>(value);
    if (!number) return fail(ErrorCode::kInvalid, std::string(kWantsStretch));
    (name == "since" ? times.since : times.until) = WallTime(Nanoseconds(*number));
    return true;
}

struct ExportParameters {
    StoredChoice choice{};
    bool raw = false;
    ExportFormat format = ExportFormat::kPprof;
    std::optional<std::string> event{};
    analyzer::NameSelection names{};
};

Result<ExportParameters> export_parameters(const Parameters& parameters) {
    ExportParameters wanted;
    StretchParameters times;
    for (const auto& [name, value] : parameters) {
        const auto time = take_time(times, name, value);
        if (!time) return fail(time.error());
        if (*time) continue;
        if (name == "to") {
            const auto* found = std::ranges::find(kFormats, value, &std::pair<std::string_view, ExportFormat>::first);
            if (found == kFormats.end()) return fail(ErrorCode::kInvalid, "to must be pprof, folded or speedscope");
            wanted.format = found->second;
        } else if (name == "window") {
            auto choice = parse_choice(name, value);
            if (!choice) return fail(std::move(choice.error()));
            wanted.choice = std::move(*choice);
        } else if (name == "event") {
            wanted.event = value;
        } else if (name == "comm") {
            wanted.names.comms.push_back(value);
        } else if (name == "unit") {
            wanted.names.units.push_back(value);
        } else if (name == "raw") {
            if (value != "true" && value != "false") return fail(ErrorCode::kInvalid, "raw must be true or false");
            wanted.raw = value == "true";
        } else {
            return fail(unknown_parameter(name));
        }
    }
    if (times.since || times.until || wanted.raw) {
        wanted.choice = {.stretch = times.stretch()};
        if (!wanted.choice.stretch) return fail(ErrorCode::kInvalid, std::string(kWantsStretch));
    } else if (wanted.choice.id.empty() && !wanted.choice.stretch) {
        wanted.choice.id = protocol::kLatest;
    }
    return wanted;
}

Response exported(const Profile& plain, const ExportParameters& wanted) {
    const auto choice = analyzer::choose_event(plain, wanted.event);
    if (!choice) return refusal_of(choice.error());
    const auto profile = with_marked_ends(plain, analyzer::MarkedEnds::kUnrooted);
    switch (wanted.format) {
        case ExportFormat::kFolded:
            return {.content_type = protocol::kTextType,
                    .body = analyzer::folded(profile, choice->event, {.idle = IdleRows::kExclude})};
        case ExportFormat::kSpeedscope:
            return {.content_type = protocol::kJsonType,
                    .body = analyzer::speedscope(profile, {choice->event}, IdleRows::kExclude)};
        case ExportFormat::kPprof: break;
    }
    return {.content_type = kBinaryType, .body = analyzer::pprof(profile, choice->event, IdleRows::kExclude)};
}

struct DiffParameters {
    std::optional<StoredChoice> before{};
    std::optional<StoredChoice> after{};
    analyzer::DiffOptions options{};
    std::size_t top = 200;
};

Result<DiffParameters> diff_parameters(const Parameters& parameters) {
    DiffParameters wanted;
    for (const auto& [name, value] : parameters) {
        if (name == "before" || name == "after") {
            auto choice = parse_choice(name, value);
            if (!choice) return fail(std::move(choice.error()));
            (name == "before" ? wanted.before : wanted.after) = std::move(*choice);
        } else if (name == "event") {
            wanted.options.event = value;
            wanted.options.event_named = true;
        } else if (name == "by") {
            using analyzer::DiffBy;
            std::optional<DiffBy> found;
            for (const auto by : {DiffBy::kFunction, DiffBy::kTotal, DiffBy::kDso, DiffBy::kComm, DiffBy::kUnit}) {
                if (analyzer::diff_by_name(by) == value) found = by;
            }
            if (!found) return fail(ErrorCode::kInvalid, "by must be function, total, dso, comm or unit");
            wanted.options.by = *found;
        } else if (name == "force") {
            if (value != "true" && value != "false") return fail(ErrorCode::kInvalid, "force must be true or false");
            wanted.options.caution = value == "true" ? analyzer::DiffCaution::kForce : analyzer::DiffCaution::kRefuse;
        } else if (name == "top") {
            const auto number = number_parameter(name, value, kMostDiffRows);
            if (!number) return fail(number.error());
            wanted.top = *number;
        } else {
            return fail(unknown_parameter(name));
        }
    }
    if (!wanted.before || !wanted.after) {
        return fail(ErrorCode::kInvalid, "before and after are needed: the id of a window, or FROM..TO");
    }
    return wanted;
}

}  // namespace

Response export_profile(const Request& request, const Parameters& parameters, Source& source) {
    auto wanted = export_parameters(parameters);
    if (!wanted) return refuse(request, 400, wanted.error().message);
    return later(request, source,
                 [wanted = std::move(*wanted), catalog = source.catalog(), read = source.profile_reader(),
                  captures = source.captures_directory()](const std::stop_token& stop) {
                     auto profile = wanted.raw ? raw_profile(captures, *wanted.choice.stretch, stop)
                                               : stored_profile(*catalog, wanted.choice, read, stop);
                     if (!profile) return refusal_of(profile.error());
                     return exported(analyzer::select(std::move(*profile), wanted.names), wanted);
                 });
}

Response diff(const Request& request, const Parameters& parameters, Source& source) {
    auto wanted = diff_parameters(parameters);
    if (!wanted) return refuse(request, 400, wanted.error().message);
    return later(request, source,
                 [wanted = std::move(*wanted), catalog = source.catalog(),
                  read = source.profile_reader()](const std::stop_token& stop) -> Response {
                     const auto before = stored_profile(*catalog, *wanted.before, read, stop);
                     if (!before) return refusal_of(before.error());
                     const auto after = stored_profile(*catalog, *wanted.after, read, stop);
                     if (!after) return refusal_of(after.error());
                     const auto diffs = analyzer::compare(*before, *after, wanted.options);
                     if (!diffs) return refuse_inner(409, diffs.error().message);
                     return {.content_type = protocol::kJsonType,
                             .body = analyzer::diff_json(*diffs, {.top = wanted.top})};
                 });
}

Response raw(const Request& request, std::string_view what, const Parameters& parameters, Source& source) {
    StretchParameters times;
    std::size_t rows = 0;
    for (const auto& [name, value] : parameters) {
        const auto time = take_time(times, name, value);
        if (!time) return refuse(request, 400, time.error().message);
        if (*time) continue;
        const auto number = number_parameter(name, value, kMostHeatRows);
        if (name != "rows" || what != protocol::kHeat) return refuse(request, 400, unknown_parameter(name).message);
        if (!number || *number == 0) return refuse(request, 400, "rows must be a number from 1 to 100");
        rows = *number;
    }
    const auto stretch = times.stretch();
    if (!stretch) return refuse(request, 400, std::string(kWantsStretch));
    if (what == protocol::kHeat && stretch->to - stretch->from > kLongestHeat) {
        return refuse(request, 400, "a heat map shows at most ten minutes");
    }
    if (what == protocol::kHeat) {
        return later(request, source,
                     [stretch = *stretch, rows,
                      directory = source.captures_directory()](const std::stop_token& stop) -> Response {
                         const auto map = heat_map(directory, stretch, rows, stop);
                         if (!map) return refusal_of(map.error());
                         return {.content_type = protocol::kJsonType, .body = heat_json(*map)};
                     });
    }
    return later(
        request, source,
        [stretch = *stretch, directory = source.captures_directory()](const std::stop_token& stop) -> Response {
            const auto profile = raw_profile(directory, stretch, stop);
            if (!profile) return refusal_of(profile.error());
            const auto encoded = analyzer::encode_profile(*profile);
            return {.content_type = protocol::kProfileType,
                    .body = std::string(reinterpret_cast<const char*>(encoded.data()), encoded.size())};
        });
}

}  // namespace perfvigil::daemon::api
