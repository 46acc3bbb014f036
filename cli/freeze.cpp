// SPDX-License-Identifier: GPL-2.0-or-later
// perfvigil freeze and thaw: the daemon keeps its captures of the last minutes, or gives up what it kept. perfvigil
// captures lists what runs, what waits and what is kept.
#include <cstdio>
#include <memory>

#include <fmt/format.h>
#include <boost/json.hpp>

#include "analyzer/text_table.hpp"
#include "base/text.hpp"
#include "cli/arguments.hpp"
#include "cli/client.hpp"
#include "cli/commands.hpp"
#include "cli/daemon_json.hpp"
#include "cli/wall_times.hpp"
#include "config/values.hpp"
#include "daemon/protocol.hpp"

namespace perfvigil::cli {
namespace {

namespace field = protocol::field;
namespace json = boost::json;
namespace parameter = protocol::parameter;

constexpr std::size_t kMostAnswer = 64U << 20;

struct FreezeOptions {
    std::string socket;
    Nanoseconds last = std::chrono::minutes(10);
    std::string label;
    OutputFormat format = OutputFormat::kText;
};

struct ThawOptions {
    std::string socket;
    std::string id;
};

struct CapturesOptions {
    std::string socket;
    OutputFormat format = OutputFormat::kText;
};

std::uint64_t bytes(const json::object& object) { return static_cast<std::uint64_t>(number_at(object, field::kBytes)); }

Result<json::object> post(const std::string& socket, const std::string& target) {
    std::string body;
    const std::function<Result<void>(std::string_view)> take = [&](std::string_view piece) -> Result<void> {
        if (body.size() + piece.size() > kMostAnswer) return fail(ErrorCode::kExhausted, "the answer is too long");
        body += piece;
        return {};
    };
    if (auto done = post_stream(socket, target, take); !done) return fail(std::move(done.error()));
    return parse_answer(body);
}

Result<json::object> get_object(const std::string& socket, std::string_view target) {
    const auto reply = get(socket, std::string(target));
    if (!reply) return fail(reply.error());
    return parse_answer(reply->body);
}

std::string local(const json::object& row, std::string_view key) {
    const auto time = parse_wall_time(text_at(row, key), {});
    return time ? local_time(*time) : text_at(row, key);
}

int run_freeze(const FreezeOptions& options) {
    auto target =
        fmt::format("{}?{}={}", protocol::kFrozen, parameter::kLast, config::DurationFormat{}.print(options.last));
    if (!options.label.empty()) target += fmt::format("&{}={}", parameter::kLabel, percent_encoded(options.label));
    const auto frozen = post(options.socket, target);
    if (!frozen) return complain(frozen.error());
    if (options.format == OutputFormat::kJson) {
        fmt::print("{}\n", json::serialize(*frozen));
        return kDone;
    }
    const auto files = list_at(*frozen, field::kFiles);
    fmt::print("{}\n", text_at(*frozen, field::kId));
    for (const auto& file : files) {
        fmt::print("{}/{}  {}\n", text_at(*frozen, field::kDirectory), text_at(file, field::kName),
                   human_bytes(bytes(file)));
    }
    fmt::print(stderr,
               "perfvigil: {} in {} file{}, from {} to {}; the one that is being recorded (.partial) is whole within a "
               "slice. Kept until: perfvigil thaw {}\n",
               human_bytes(bytes(*frozen)), files.size(), files.size() == 1 ? "" : "s", local(*frozen, field::kStart),
               local(*frozen, field::kEnd), text_at(*frozen, field::kId));
    return kDone;
}

int run_thaw(const ThawOptions& options) {
    const auto thawed =
        post(options.socket, fmt::format("{}/{}/{}", protocol::kFrozen, percent_encoded(options.id), protocol::kThaw));
    if (!thawed) return complain(thawed.error());
    fmt::print(stderr, "perfvigil: {} is no longer kept\n", text_at(*thawed, field::kId));
    return kDone;
}

std::string why_frozen(const json::object& row) {
    if (text_at(row, field::kReason) != "rule") {
        const auto label = text_at(row, field::kLabel);
        return (label.empty() ? "" : label + "; ") + text_at(row, field::kWho);
    }
    return "rule " + text_at(row, field::kRule) + ": " + text_at(object_at(row, field::kEvidence), field::kMessage);
}

void print_running(const std::vector<json::object>& running) {
    using Align = analyzer::TextTable::Align;
    analyzer::TextTable table;
    table.column("capture", Align::kRight)
        .column("state", Align::kLeft)
        .column("target", Align::kLeft)
        .column("seconds", Align::kRight)
        .column("hertz", Align::kRight)
        .column("cost", Align::kRight)
        .column("label", Align::kLeft);
    for (const auto& row : running) {
        table.row({fmt::format("{:.0f}", number_at(row, field::kId)), text_at(row, field::kState),
                   text_at(row, field::kTarget), fmt::format("{:g}", number_at(row, field::kDurationSeconds)),
                   fmt::format("{:.0f}", number_at(row, field::kFrequency)),
                   fmt::format("{:.2f} %", number_at(row, field::kCostPercent)), text_at(row, field::kLabel)});
    }
    fmt::print("{}\n", table.render(output_width()));
}

void print_frozen(const json::object& answer, const std::vector<json::object>& frozen) {
    using Align = analyzer::TextTable::Align;
    analyzer::TextTable table;
    table.column("frozen", Align::kLeft)
        .column("from", Align::kLeft)
        .column("to", Align::kLeft)
        .column("files", Align::kRight)
        .column("size", Align::kRight)
        .column("why", Align::kLeft);
    for (const auto& row : frozen) {
        table.row({text_at(row, field::kId), local(row, field::kStart), local(row, field::kEnd),
                   std::to_string(list_at(row, field::kFiles).size()), human_bytes(bytes(row)), why_frozen(row)});
    }
    fmt::print("{}", table.render(output_width()));
    for (const auto& row : frozen) {
        if (const auto captured = text_at(row, field::kCaptured); !captured.empty()) {
            fmt::print("{}/triggered.perf.data: {}\n", text_at(row, field::kId), captured);
        }
    }
    fmt::print("{} of {} in {}\n", human_bytes(bytes(answer)),
               human_bytes(static_cast<std::uint64_t>(number_at(answer, field::kBytesLimit))),
               text_at(answer, field::kDirectory));
}

int run_captures(const CapturesOptions& options) {
    const auto frozen = get_object(options.socket, protocol::kFrozen);
    if (!frozen) return complain(frozen.error());
    // Those that run are told on the control socket alone.
    const auto running = get_object(options.socket, protocol::kCaptures);
    if (options.format == OutputFormat::kJson) {
        auto both = *frozen;
        if (running) both[field::kCaptures] = running->at(field::kCaptures);
        fmt::print("{}\n", json::serialize(both));
        return kDone;
    }
    const auto now = running ? list_at(*running, field::kCaptures) : std::vector<json::object>();
    const auto kept = list_at(*frozen, field::kFrozen);
    if (!running) fmt::print(stderr, "perfvigil: captures that run: {}\n", escape(running.error().message));
    if (!now.empty()) print_running(now);
    if (!kept.empty()) print_frozen(*frozen, kept);
    if (running && now.empty() && kept.empty()) fmt::print("no capture runs or waits, and none is frozen\n");
    return kDone;
}

void add_thaw(CLI::App& app, int& exit_code) {
    const auto shared = std::make_shared<ThawOptions>();
    auto& options = *shared;
    auto& command = *app.add_subcommand("thaw", "Give up captures that were frozen");
    add_socket(command, options.socket);
    command.add_option("ID", options.id, "of perfvigil captures")->required();
    command.callback([shared, &exit_code] { exit_code = run_thaw(*shared); });
}

void add_captures(CLI::App& app, int& exit_code) {
    const auto shared = std::make_shared<CapturesOptions>();
    auto& options = *shared;
    auto& command = *app.add_subcommand(
        "captures", "Captures that run and wait, and those that are frozen, with who asked and why");
    add_socket(command, options.socket);
    add_json(command, options.format);
    command.callback([shared, &exit_code] { exit_code = run_captures(*shared); });
}

}  // namespace

void add_freeze(CLI::App& app, int& exit_code) {
    const auto shared = std::make_shared<FreezeOptions>();
    auto& options = *shared;
    auto& command = *app.add_subcommand("freeze", "Keep the daemon's captures of the last minutes");
    command.footer(
        "The daemon's raw captures of that time are kept beyond captures.bytes and captures.keep, until they are "
        "thawed; captures.frozen limits them together. Rules in the configuration (triggers.rules) do the same by "
        "themselves.\n"
        "  perfvigil freeze --label 'slow logins' --last 5min");
    add_socket(command, options.socket);
    add_json(command, options.format);
    add_value(command, "--last", config::DurationFormat{.min = std::chrono::seconds(1)}, options.last,
              "how far back: 30s, 10min, 1h (10min)");
    command.add_option("--label", options.label, "why, for perfvigil captures, the log and the windows' notes");
    command.callback([shared, &exit_code] { exit_code = run_freeze(*shared); });
    add_thaw(app, exit_code);
    add_captures(app, exit_code);
}

}  // namespace perfvigil::cli
