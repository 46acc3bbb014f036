// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/support/client.hpp"
#include "tests/support/paths.hpp"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <sstream>
#include <stdexcept>
#include <system_error>

extern char** environ;

namespace perfvigil::test {

std::string client_path(const std::string& name) { return std::string(test::kClientsDir) + "/" + name; }

Client::Client(std::string program, std::vector<std::string> arguments) {
    if (!program.contains('/')) program = client_path(program);
    std::array<int, 2> pipe{};
    if (::pipe2(pipe.data(), O_CLOEXEC) != 0) throw std::runtime_error("pipe");
    out_ = UniqueFd(pipe[0]);
    const UniqueFd write_end(pipe[1]);

    arguments.insert(arguments.begin(), program);
    std::vector<char*> words;
    for (std::string& argument : arguments) words.push_back(argument.data());
    words.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, write_end.get(), STDOUT_FILENO);
    const int error = ::posix_spawn(&pid_, program.c_str(), &actions, nullptr, words.data(), environ);
    ::posix_spawn_file_actions_destroy(&actions);
    if (error != 0) throw std::runtime_error(program + ": " + std::generic_category().message(error));
}

Client::~Client() {
    if (status_ != -1) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
}

std::string Client::output() {
    std::string text;
    std::array<char, 4096> buffer{};
    for (ssize_t got = 0; (got = ::read(out_.get(), buffer.data(), buffer.size())) > 0;) {
        text.append(buffer.data(), static_cast<std::size_t>(got));
    }
    ::waitpid(pid_, &status_, 0);
    return text;
}

std::string Client::stop() {
    ::kill(pid_, SIGTERM);
    return output();
}

std::vector<double> Client::numbers(const std::string& text) {
    std::istringstream in(text);
    std::vector<double> values;
    for (double value = 0; in >> value;) values.push_back(value);
    return values;
}

}  // namespace perfvigil::test
