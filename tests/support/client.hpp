// SPDX-License-Identifier: GPL-2.0-or-later
// A program of tests/clients (or any other) run beside a test, its standard output collected.
#pragma once

#include <sys/types.h>

#include <initializer_list>
#include <string>
#include <vector>

#include "base/fd.hpp"

namespace perfvigil::test {

class Client {
public:
    // A name without '/' is one of tests/clients. Throws std::runtime_error when it cannot be started.
    Client(std::string program, std::vector<std::string> arguments);
    Client(Client&&) = delete;
    ~Client();  // killed and reaped when still running

    [[nodiscard]] pid_t pid() const { return pid_; }
    // Waits for its end: what it wrote.
    std::string output();
    // SIGTERM, then as output().
    std::string stop();
    // The numbers in the output of stop() or output().
    [[nodiscard]] static std::vector<double> numbers(const std::string& text);
    [[nodiscard]] int exit_status() const { return status_; }

private:
    pid_t pid_ = 0;
    int status_ = -1;
    UniqueFd out_;
};

// Path of a program of tests/clients.
[[nodiscard]] std::string client_path(const std::string& name);

}  // namespace perfvigil::test
