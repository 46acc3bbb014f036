// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/symbols/debuginfod.hpp"

#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "analyzer/symbols/regular_file.hpp"
#include "base/text.hpp"

namespace perfvigil::analyzer {
namespace {

using SteadyTime = std::chrono::steady_clock::time_point;
constexpr std::size_t kMaxText = 8192;  // of the answer: one path
constexpr int kNoProgram = 127;

struct Command {
    std::string program;
    std::vector<std::string> arguments;
    std::vector<std::string> environment;
    rlim_t file_bytes = 0;
};

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
    std::vector<char*> pointers;
    for (auto& text : texts) pointers.push_back(text.data());
    pointers.push_back(nullptr);
    return pointers;
}

// In the child, between fork and exec: nothing but system calls. Rights that it has from us are not for a program that
// talks to the network; each is given up as far as the kernel lets us.
void give_up_rights(rlim_t file_bytes) {
    for (int cap = 0; ::prctl(PR_CAPBSET_READ, cap, 0, 0, 0) >= 0; ++cap) (void)::prctl(PR_CAPBSET_DROP, cap, 0, 0, 0);
    (void)::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
    const std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> none{};
    (void)::syscall(SYS_capset, &header, none.data());
    (void)::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    const rlimit bytes{.rlim_cur = file_bytes, .rlim_max = file_bytes};
    (void)::setrlimit(RLIMIT_FSIZE, &bytes);
    const rlimit nothing{.rlim_cur = 0, .rlim_max = 0};
    (void)::setrlimit(RLIMIT_CORE, &nothing);
}

[[noreturn]] void become(const char* program, char* const* arguments, char* const* environment, int out, int null,
                         rlim_t file_bytes) {
    sigset_t none;
    sigemptyset(&none);
    (void)::sigprocmask(SIG_SETMASK, &none, nullptr);
    for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGCHLD}) (void)::signal(number, SIG_DFL);
    (void)::setpgid(0, 0);
    (void)::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    (void)::dup2(null, STDIN_FILENO);
    (void)::dup2(out, STDOUT_FILENO);
    (void)::dup2(null, STDERR_FILENO);
    (void)::syscall(SYS_close_range, 3, ~0U, 0);
    give_up_rights(file_bytes);
    ::execve(program, arguments, environment);
    ::_exit(kNoProgram);
}

Result<std::pair<pid_t, UniqueFd>> spawn(Command command) {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0) return fail_errno(errno, "pipe2");
    UniqueFd ours(ends[0]);
    const UniqueFd theirs(ends[1]);
    auto null = open_file("/dev/null", O_RDWR);
    if (!null) return fail(std::move(null.error()));
    const auto arguments = pointers_to(command.arguments);
    const auto environment = pointers_to(command.environment);
    const pid_t pid = ::fork();
    if (pid < 0) return fail_errno(errno, "fork");
    if (pid == 0) {
        become(command.program.c_str(), arguments.data(), environment.data(), theirs.get(), null->get(),
               command.file_bytes);
    }
    return std::pair(pid, std::move(ours));
}

// Where execvp(3) would find it; empty: nowhere.
std::string find_program(const std::string& name) {
    if (name.find('/') != std::string::npos) return ::access(name.c_str(), X_OK) == 0 ? name : std::string();
    const char* path = std::getenv("PATH");
    std::string_view folders = path == nullptr || *path == '\0' ? "/usr/local/bin:/usr/bin:/bin" : path;
    while (!folders.empty()) {
        auto program = std::string(next_piece(folders, ':')) + '/' + name;
        if (program.front() == '/' && ::access(program.c_str(), X_OK) == 0) return program;
    }
    return {};
}

}  // namespace

Debuginfod::Debuginfod(DebuginfodOptions options, const Clock& clock)
    : options_(std::move(options)), clock_(clock), wait_left_(options_.wait) {}

Debuginfod::~Debuginfod() {
    if (!running_) return;
    (void)::kill(-running_->pid, SIGKILL);
    (void)::kill(running_->pid, SIGKILL);
    int status = 0;
    while (::waitpid(running_->pid, &status, 0) < 0 && errno == EINTR) {
    }
}

Result<OpenedFileRef> Debuginfod::get(Kind kind, const BuildId& build_id) {
    const auto missing = [&] { return fail(ErrorCode::kNotFound, build_id.hex() + ": no debuginfod server has it"); };
    if (!enabled() || build_id.empty()) return missing();
    if (error_) return fail(*error_);
    const Question question{.kind = kind, .build_id = build_id};
    const auto key = question.key();
    if (const auto old = answers_.find(key); old != answers_.end() && old->second.path.empty() &&
                                             clock_.monotonic() - old->second.at >= options_.ask_again) {
        answers_.erase(old);
    }
    const auto same = [&](const Question& other) { return other.key() == key; };
    const bool asked = (running_ && same(running_->question)) || std::ranges::any_of(waiting_, same);
    if (!answers_.contains(key) && !asked) {
        if (waiting_.size() >= kMaxWaiting) {
            ++counters_.dropped;
            return missing();
        }
        waiting_.push_back(question);
    }
    step();
    const auto until = std::chrono::steady_clock::now() + wait_left_;
    while (!error_ && !answers_.contains(key) && std::chrono::steady_clock::now() < until) {
        wait_for_running(until);
        step();
    }
    wait_left_ =
        std::max(std::chrono::milliseconds{},
                 std::chrono::duration_cast<std::chrono::milliseconds>(until - std::chrono::steady_clock::now()));
    if (error_) return fail(*error_);
    const auto answer = answers_.find(key);
    if (answer == answers_.end()) return fail(ErrorCode::kBusy, build_id.hex() + ": being fetched");
    if (answer->second.path.empty()) return missing();
    auto file = open_regular_at(answer->second.path, RemoteFiles::kAllow);
    // The cache is cleaned by others, and holds what a server sent.
    if (!file || (*file)->build_id != build_id) return missing();
    return file;
}

// Takes what has come, and starts what waits.
void Debuginfod::step() {
    if (running_ && collect(*running_)) running_.reset();
    if (running_ || waiting_.empty()) return;
    const Question next = waiting_.front();
    waiting_.pop_front();
    start(next);
}

std::vector<std::string> Debuginfod::environment() const {
    std::vector<std::string> all{
        fmt::format("DEBUGINFOD_URLS={}", fmt::join(options_.urls, " ")),
        fmt::format("DEBUGINFOD_MAXTIME={}", options_.file_limit.count()),
        fmt::format("DEBUGINFOD_MAXSIZE={}", options_.file_bytes),
        "DEBUGINFOD_RETRY_LIMIT=1",
    };
    if (!options_.cache.empty()) all.push_back("DEBUGINFOD_CACHE_PATH=" + options_.cache);
    for (const char* name : {"HOME", "XDG_CACHE_HOME", "PATH", "http_proxy", "https_proxy", "no_proxy"}) {
        if (const char* value = std::getenv(name)) all.push_back(fmt::format("{}={}", name, value));
    }
    return all;
}

void Debuginfod::start(const Question& question) {
    const auto program = find_program(options_.program);
    if (program.empty()) {
        error_ = Error{ErrorCode::kNotFound, ENOENT,
                       options_.program + " is not installed: no debuginfod server can be asked"};
        return;
    }
    Command command;
    command.program = program;
    command.arguments = {options_.program, question.kind == Kind::kDebugFile ? "debuginfo" : "executable",
                         question.build_id.hex()};
    command.environment = environment();
    command.file_bytes = options_.file_bytes;
    auto child = spawn(std::move(command));
    if (!child) {
        error_ = std::move(child.error()).at(options_.program);
        return;
    }
    ++counters_.asked;
    running_ = Running{.question = question,
                       .pid = child->first,
                       .out = std::move(child->second),
                       .text = {},
                       .since = std::chrono::steady_clock::now()};
}

// Whether it has ended. Its answer is one line: the path of the file.
bool Debuginfod::collect(Running& running) {
    std::array<char, 1024> piece{};
    for (ssize_t got = 0; (got = ::read(running.out.get(), piece.data(), piece.size())) > 0;) {
        if (running.text.size() < kMaxText) running.text.append(piece.data(), static_cast<std::size_t>(got));
    }
    int status = 0;
    if (::waitpid(running.pid, &status, WNOHANG) == 0) {
        if (std::chrono::steady_clock::now() - running.since < options_.file_limit + std::chrono::seconds(5))
            return false;
        ++counters_.timed_out;
        (void)::kill(running.pid, SIGKILL);
        while (::waitpid(running.pid, &status, 0) < 0 && errno == EINTR) {
        }
    }
    for (ssize_t got = 0; (got = ::read(running.out.get(), piece.data(), piece.size())) > 0;) {
        if (running.text.size() < kMaxText) running.text.append(piece.data(), static_cast<std::size_t>(got));
    }
    const bool good = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    const auto path = trim(std::string_view(running.text));
    note(running.question, good && path.starts_with('/') ? std::string(path) : std::string());
    return true;
}

void Debuginfod::note(const Question& question, std::string path) {
    if (!path.empty()) ++counters_.found;
    if (answers_.size() >= kMaxAnswers) answers_.clear();
    answers_.insert_or_assign(question.key(), Answer{.path = std::move(path), .at = clock_.monotonic()});
}

void Debuginfod::wait_for_running(SteadyTime deadline) {
    if (!running_) return;
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    // Its end closes the pipe.
    pollfd out{.fd = running_->out.get(), .events = POLLIN, .revents = 0};
    const auto most = std::min<std::int64_t>(std::max<std::int64_t>(left.count(), 0), 200);
    (void)::poll(&out, 1, static_cast<int>(most));
}

}  // namespace perfvigil::analyzer
