// SPDX-License-Identifier: GPL-2.0-or-later
// Asks debuginfod servers for files by build-id, through the program debuginfod-find (elfutils; Debian: package
// debuginfod), which keeps them in a folder of its own. Off unless the caller names servers; the environment names
// none. The program runs as a child without capabilities, so neither a slow server nor a hostile answer reaches us:
// get() starts it, or looks whether it has ended, and waits only where the caller allowed it. What it brought counts
// only when its build-id is the wanted one.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include <boost/unordered/unordered_flat_map.hpp>

#include "analyzer/symbols/file_source.hpp"
#include "base/build_id.hpp"
#include "base/error.hpp"
#include "base/fd.hpp"
#include "base/time.hpp"

namespace perfvigil::analyzer {

struct DebuginfodOptions {
    std::vector<std::string> urls{};  // of servers, the first that has a file wins; empty: nobody is asked
    std::string cache{};              // folder of the files; empty: debuginfod-find's own
    std::string program = "debuginfod-find";
    std::chrono::seconds file_limit{90};            // per file, then the child is killed
    std::chrono::milliseconds wait{0};              // that get() may wait, all calls together; live: nothing
    std::uint64_t file_bytes = 2ULL << 30;          // per file
    Nanoseconds ask_again = std::chrono::hours(1);  // for what no server had
};

class Debuginfod {
public:
    enum class Kind : std::uint8_t { kExecutable, kDebugFile };
    struct Counters {
        std::uint64_t asked = 0;
        std::uint64_t found = 0;
        std::uint64_t timed_out = 0;
        std::uint64_t dropped = 0;  // too many questions at a time
    };

    Debuginfod(DebuginfodOptions options, const Clock& clock);
    ~Debuginfod();
    Debuginfod(const Debuginfod&) = delete;
    Debuginfod& operator=(const Debuginfod&) = delete;

    // kBusy: not here yet, ask again; kNotFound: no server has it, or none is asked; else why nobody can be asked.
    [[nodiscard]] Result<OpenedFileRef> get(Kind kind, const BuildId& build_id);

    [[nodiscard]] bool enabled() const { return !options_.urls.empty(); }
    [[nodiscard]] const Counters& counters() const { return counters_; }
    // Why nobody can be asked although servers are named.
    [[nodiscard]] const std::optional<Error>& error() const { return error_; }

private:
    static constexpr std::size_t kMaxWaiting = 256;
    static constexpr std::size_t kMaxAnswers = 16384;
    struct Question {
        Kind kind = Kind::kDebugFile;
        BuildId build_id;
        [[nodiscard]] std::string key() const { return (kind == Kind::kDebugFile ? 'd' : 'e') + build_id.hex(); }
    };
    struct Answer {
        std::string path;  // empty: nobody has it
        MonotonicTime at{};
    };
    struct Running {
        Question question;
        pid_t pid = 0;
        UniqueFd out;
        std::string text;
        std::chrono::steady_clock::time_point since;
    };

    void step();
    void start(const Question& question);
    [[nodiscard]] bool collect(Running& running);
    void note(const Question& question, std::string path);
    void wait_for_running(std::chrono::steady_clock::time_point deadline);
    [[nodiscard]] std::vector<std::string> environment() const;

    DebuginfodOptions options_;
    const Clock& clock_;
    std::chrono::milliseconds wait_left_;
    std::deque<Question> waiting_;
    std::optional<Running> running_;  // one at a time
    boost::unordered_flat_map<std::string, Answer> answers_;
    Counters counters_;
    std::optional<Error> error_;
};

}  // namespace perfvigil::analyzer
