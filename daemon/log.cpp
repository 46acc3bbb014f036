// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/log.hpp"

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

#include "base/text.hpp"

namespace perfvigil::daemon::log {
namespace {

// Whether standard error is the journal: JOURNAL_STREAM holds its device and inode, systemd.exec(5).
bool to_journal() {
    const char* stream = std::getenv("JOURNAL_STREAM");
    struct stat status{};
    if (stream == nullptr || ::fstat(STDERR_FILENO, &status) != 0) return false;
    return stream == std::to_string(status.st_dev) + ":" + std::to_string(status.st_ino);
}

// "<4>", sd-daemon(3).
class PriorityFlag final : public spdlog::custom_flag_formatter {
public:
    void format(const spdlog::details::log_msg& message, const std::tm&, spdlog::memory_buf_t& out) override {
        std::string_view prefix = "<7>";
        if (message.level >= spdlog::level::err)
            prefix = "<3>";
        else if (message.level == spdlog::level::warn)
            prefix = "<4>";
        else if (message.level == spdlog::level::info)
            prefix = "<6>";
        out.append(prefix.data(), prefix.data() + prefix.size());
    }
    [[nodiscard]] std::unique_ptr<custom_flag_formatter> clone() const override {
        return std::make_unique<PriorityFlag>();
    }
};

spdlog::logger& logger() {
    static const auto instance = [] {
        auto made = std::make_shared<spdlog::logger>("perfvigild", std::make_shared<spdlog::sinks::stderr_sink_mt>());
        auto formatter = std::make_unique<spdlog::pattern_formatter>(spdlog::pattern_time_type::utc);
        formatter->add_flag<PriorityFlag>('*');
        formatter->set_pattern(to_journal() ? "%*%v" : "%Y-%m-%dT%H:%M:%S.%eZ %l %v");
        made->set_formatter(std::move(formatter));
        made->flush_on(spdlog::level::trace);
        return made;
    }();
    return *instance;
}

void append_value(std::string& out, std::string_view value) {
    constexpr std::string_view kPlain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-./:%+@,~[]()";
    if (!value.empty() && value.find_first_not_of(kPlain) == std::string_view::npos) {
        out += value;
        return;
    }
    out += '"';
    for (const char c : escape(value)) {
        if (c == '"') out += '\\';
        out += c;
    }
    out += '"';
}

void write(spdlog::level::level_enum level, std::string_view what, Fields fields) {
    if (!logger().should_log(level)) return;
    const std::string line = format(what, fields);
    logger().log(level, spdlog::string_view_t(line.data(), line.size()));
}

}  // namespace

Field::Field(std::string_view k, double v) : key(k), value(fmt::format("{:.6g}", v)) {}

std::string format(std::string_view what, Fields fields) {
    std::string line = escape(what);
    for (const auto& field : fields) {
        line += ' ';
        line += field.key;
        line += '=';
        append_value(line, field.value);
    }
    return line;
}

void error(std::string_view what, Fields fields) { write(spdlog::level::err, what, fields); }
void warning(std::string_view what, Fields fields) { write(spdlog::level::warn, what, fields); }
void info(std::string_view what, Fields fields) { write(spdlog::level::info, what, fields); }
void debug(std::string_view what, Fields fields) { write(spdlog::level::debug, what, fields); }

void set_level(config::LogLevel level) {
    switch (level) {
        case config::LogLevel::kError: return logger().set_level(spdlog::level::err);
        case config::LogLevel::kWarning: return logger().set_level(spdlog::level::warn);
        case config::LogLevel::kInfo: return logger().set_level(spdlog::level::info);
        case config::LogLevel::kDebug: return logger().set_level(spdlog::level::debug);
    }
}

}  // namespace perfvigil::daemon::log
