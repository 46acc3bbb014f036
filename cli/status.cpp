// SPDX-License-Identifier: GPL-2.0-or-later
#include <fmt/core.h>
#include <boost/json.hpp>

#include <memory>

#include "base/text.hpp"
#include "cli/arguments.hpp"
#include "cli/client.hpp"
#include "cli/commands.hpp"
#include "daemon/protocol.hpp"

namespace perfvigil::cli {
namespace {

struct StatusOptions {
    std::string socket;
    OutputFormat format = OutputFormat::kText;
};

namespace json = boost::json;
namespace field = protocol::field;

// Fields of a daemon of another version may be missing: an absent one reads as empty.
const json::value& at(const json::value& object, std::string_view key) {
    static const json::value kNone;
    const auto* as_object = object.if_object();
    const auto* value = as_object != nullptr ? as_object->if_contains(key) : nullptr;
    return value != nullptr ? *value : kNone;
}

std::string text(const json::value& value) {
    if (const auto* string = value.if_string()) return escape(*string);
    return value.is_null() ? "-" : json::serialize(value);
}

double number(const json::value& value) { return value.is_number() ? value.to_number<double>() : 0; }

std::string joined(const json::value& list) {
    std::string out;
    if (const auto* array = list.if_array()) {
        for (const auto& item : *array) out += (out.empty() ? "" : ",") + text(item);
    }
    return out;
}

std::string place(const json::value& object) {
    return fmt::format("{}  {} of {}, {} files", text(at(object, field::kDirectory)),
                       human_bytes(static_cast<std::uint64_t>(number(at(object, field::kBytes)))),
                       human_bytes(static_cast<std::uint64_t>(number(at(object, field::kBytesLimit)))),
                       text(at(object, field::kCount)));
}

void print_text(const json::value& status) {
    const bool ready = at(status, field::kReady) == json::value(true);
    fmt::print("perfvigild {}, pid {}: {}{}\n", text(at(status, field::kVersion)), text(at(status, field::kPid)),
               text(at(status, field::kState)),
               ready ? "" : fmt::format(", not ready: {}", text(at(status, field::kNotReadyReason))));
    fmt::print("  up       {:.0f} s, since {}\n", number(at(status, field::kUptimeSeconds)),
               text(at(status, field::kStarted)));
    fmt::print("  source   {}\n", text(at(status, field::kSource)));
    if (const auto* events = at(status, field::kEvents).if_array()) {
        for (const auto& event : *events) {
            fmt::print("  event    {} at {} Hz\n", text(at(event, field::kName)), text(at(event, field::kFrequency)));
        }
    }
    fmt::print("  CPUs     {}\n", joined(at(status, field::kCpus)));
    fmt::print("  rings    {}\n", human_bytes(static_cast<std::uint64_t>(number(at(status, field::kRingBytes)))));
    fmt::print("  slices   {} of {:.0f} s, the last ended {}\n", text(at(status, field::kSlices)),
               number(at(status, field::kSliceSeconds)), text(at(status, field::kLastSliceEnd)));
    fmt::print("  profiles {}\n", place(at(status, field::kStore)));
    if (at(at(status, field::kCaptures), field::kEnabled) == json::value(true)) {
        fmt::print("  captures {}\n", place(at(status, field::kCaptures)));
    }
    if (const auto* degraded = at(status, field::kDegraded).if_array()) {
        for (const auto& row : *degraded) {
            fmt::print("  degraded {}: {}\n", text(at(row, field::kReason)), text(at(row, field::kDetail)));
            const auto remedy = text(at(row, field::kRemedy));
            if (!remedy.empty() && remedy != "-") fmt::print("           {}\n", remedy);
        }
    }
}

int run_status(const StatusOptions& options) {
    const auto reply = get(options.socket, std::string(protocol::kStatus));
    if (!reply) return complain(reply.error());
    if (options.format == OutputFormat::kJson) {
        fmt::print("{}\n", trim(reply->body));
        return kDone;
    }
    boost::system::error_code error;
    const auto status = json::parse(reply->body, error);
    if (error) return complain({ErrorCode::kInvalid, 0, "the daemon's status is not JSON: " + error.message()});
    print_text(status);
    return kDone;
}

}  // namespace

void add_status(CLI::App& app, int& exit_code) {
    const auto shared = std::make_shared<StatusOptions>();
    auto& options = *shared;
    auto& command = *app.add_subcommand("status", "How the daemon is: state, events, what it has to do without");
    add_socket(command, options.socket);
    add_json(command, options.format);
    command.callback([shared, &exit_code] { exit_code = run_status(*shared); });
}

}  // namespace perfvigil::cli
