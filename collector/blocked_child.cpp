// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/blocked_child.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "base/text.hpp"

namespace perfvigil::collector {
namespace {

ssize_t read_retrying(int fd, void* data, std::size_t size) {
    ssize_t got = 0;
    do got = ::read(fd, data, size);
    while (got < 0 && errno == EINTR);
    return got;
}

// Between fork and exec: only what is safe in a child of a program with threads.
[[noreturn]] void run_child(int go, int failure, char* const* arguments) {
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    char byte = 0;
    if (read_retrying(go, &byte, 1) != 1) ::_exit(127);
    ::execvp(arguments[0], arguments);
    const int error = errno;
    (void)!::write(failure, &error, sizeof error);
    ::_exit(127);
}

}  // namespace

Result<BlockedChild> BlockedChild::fork(const std::vector<std::string>& command) {
    if (command.empty()) return fail(ErrorCode::kInvalid, "no command to run");
    std::array<int, 2> go{};
    std::array<int, 2> failure{};
    // A socket: writing to a child that was killed must not raise SIGPIPE here.
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, go.data()) != 0) return fail_errno(errno, "socketpair");
    UniqueFd go_read(go[0]);
    UniqueFd go_write(go[1]);
    if (::pipe2(failure.data(), O_CLOEXEC) != 0) return fail_errno(errno, "pipe");
    UniqueFd failure_read(failure[0]);
    UniqueFd failure_write(failure[1]);

    std::vector<std::string> words = command;
    std::vector<char*> arguments;
    arguments.reserve(words.size() + 1);
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);

    const pid_t pid = ::fork();
    if (pid < 0) return fail_errno(errno, "fork");
    if (pid == 0) {
        ::close(go_write.get());  // else our own end would keep the pipe open when the recorder dies
        run_child(go_read.get(), failure_write.get(), arguments.data());
    }
    return BlockedChild(Pid{pid}, command.front(), std::move(go_write), std::move(failure_read));
}

BlockedChild::BlockedChild(BlockedChild&& other) noexcept
    : pid_(std::exchange(other.pid_, Pid{0})),
      program_(std::move(other.program_)),
      go_(std::move(other.go_)),
      failure_(std::move(other.failure_)),
      status_(other.status_) {}

BlockedChild::~BlockedChild() {
    if (pid_.value == 0 || !go_) return;
    go_.reset();
    (void)wait();
}

Result<void> BlockedChild::release() {
    const char byte = 1;
    const ssize_t sent = ::send(go_.get(), &byte, 1, MSG_NOSIGNAL);
    go_.reset();
    if (sent != 1) return fail(ErrorCode::kIo, escape(program_) + ": ended before it could be started");
    int error = 0;
    const ssize_t got = read_retrying(failure_.get(), &error, sizeof error);
    failure_.reset();
    if (got != static_cast<ssize_t>(sizeof error)) return {};  // exec closed the pipe
    (void)wait();
    return fail_errno(error, escape(program_));
}

std::optional<int> BlockedChild::ended() {
    int status = 0;
    if (!status_ && ::waitpid(pid_.value, &status, WNOHANG) == pid_.value) status_ = status;
    return status_;
}

int BlockedChild::wait() {
    while (!status_) {
        int status = 0;
        const pid_t got = ::waitpid(pid_.value, &status, 0);
        if (got == pid_.value)
            status_ = status;
        else if (errno != EINTR)
            status_ = 0;  // reaped by somebody else
    }
    return *status_;
}

void BlockedChild::signal(int number) {
    if (!ended()) ::kill(pid_.value, number);
}

int exit_code_of(int wait_status) {
    return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

}  // namespace perfvigil::collector
