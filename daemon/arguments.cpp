// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/arguments.hpp"

#include <charconv>
#include <cmath>
#include <utility>

#include "base/text.hpp"

namespace perfvigil::daemon {
namespace {

// "--name VALUE" and "--name=VALUE", in any order.
class Reader {
public:
    explicit Reader(std::span<const std::string_view> rest) : rest_(rest) {}

    [[nodiscard]] bool done() const { return rest_.empty(); }
    // The next option's name; its value, if it stands behind '=', is kept.
    std::string_view next() {
        std::string_view word = rest_.front();
        rest_ = rest_.subspan(1);
        const auto equals = word.find('=');
        value_.reset();
        if (word.starts_with("--") && equals != std::string_view::npos) {
            value_ = word.substr(equals + 1);
            word = word.substr(0, equals);
        }
        return word;
    }
    Result<std::string> value(std::string_view name) {
        if (!value_ && !rest_.empty()) {
            value_ = rest_.front();
            rest_ = rest_.subspan(1);
        }
        if (!value_) return fail(ErrorCode::kInvalid, std::string(name) + " needs a value");
        return std::string(*std::exchange(value_, std::nullopt));
    }
    [[nodiscard]] bool has_unused_value() const { return value_.has_value(); }

private:
    std::span<const std::string_view> rest_;
    std::optional<std::string_view> value_;
};

Result<double> parse_speed(std::string_view text) {
    double speed = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), speed, std::chars_format::fixed);
    const bool whole = error == std::errc{} && end == text.data() + text.size();
    if (!whole || !std::isfinite(speed) || speed < 0) {
        return fail(ErrorCode::kInvalid, "--speed: \"" + escape(text) + "\" is not a number of 0 or more");
    }
    return speed;
}

Result<void> take(Reader& reader, std::string_view name, Arguments& out) {
    using Action = Arguments::Action;
    if (name == "--config" || name == "--replay") {
        auto value = reader.value(name);
        if (!value) return fail(std::move(value.error()));
        (name == "--config" ? out.config : out.replay) = std::move(*value);
    } else if (name == "--speed") {
        const auto value = reader.value(name);
        if (!value) return fail(value.error());
        const auto speed = parse_speed(*value);
        if (!speed) return fail(speed.error());
        out.speed = *speed;
    } else if (name == "--check-config") {
        out.action = Action::kCheckConfig;
    } else if (name == "--print-config") {
        out.action = Action::kPrintConfig;
    } else if (name == "--version") {
        out.action = Action::kVersion;
    } else if (name == "--help" || name == "-h") {
        out.action = Action::kHelp;
    } else {
        return fail(ErrorCode::kInvalid, "unknown argument \"" + escape(name) + "\"");
    }
    if (reader.has_unused_value()) return fail(ErrorCode::kInvalid, std::string(name) + " takes no value");
    return {};
}

}  // namespace

Result<Arguments> parse_arguments(std::span<const std::string_view> arguments) {
    Arguments out;
    Reader reader(arguments);
    while (!reader.done()) {
        const auto name = reader.next();
        if (auto taken = take(reader, name, out); !taken) return fail(std::move(taken.error()));
    }
    if (out.replay == "-") return fail(ErrorCode::kInvalid, "--replay needs a file, not standard input");
    return out;
}

std::string_view usage_text() {
    return "usage: perfvigild [options]\n"
           "\n"
           "Profiles every CPU of this host, continuously. Configured by a file; perfvigil(1) asks it for reports.\n"
           "\n"
           "  --config FILE    the configuration (default: /etc/perfvigil/perfvigil.yaml where it exists)\n"
           "  --check-config   reads it, names everything that is wrong with it, and exits\n"
           "  --print-config   prints the configuration in force, every key with its meaning, and exits\n"
           "  --replay FILE    takes the records from a capture (perf.data) instead of the kernel\n"
           "  --speed N        of the replay, as a factor; 0: as fast as possible (default: 1)\n"
           "  --version\n"
           "  --help\n"
           "\n"
           "Signals: TERM and INT store the last window and end; HUP reads the configuration again.\n"
           "Exit status: 0 ended by a signal; 1 failed; 64 wrong usage; 77 rights are missing; 78 wrong "
           "configuration.\n";
}

}  // namespace perfvigil::daemon
