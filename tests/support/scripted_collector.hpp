// SPDX-License-Identifier: GPL-2.0-or-later
// A collector on a loopback port that does as it is told: answers, hangs, closes. Keeps what it was sent.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/fd.hpp"

namespace perfvigil::test {

class ScriptedCollector {
public:
    struct Post {
        std::string head;  // request line and headers
        std::string body;
    };

    ScriptedCollector();
    ~ScriptedCollector();
    ScriptedCollector(const ScriptedCollector&) = delete;
    ScriptedCollector& operator=(const ScriptedCollector&) = delete;

    static constexpr unsigned kHang = 0;   // reads the request, says nothing
    static constexpr unsigned kClose = 1;  // closes without reading
    static constexpr unsigned kNoise = 2;  // answers what is no HTTP
    // How it treats connections from now on: an HTTP status, or one of the above.
    void behave(unsigned how) { how_ = how; }

    [[nodiscard]] std::uint16_t port() const { return port_; }
    [[nodiscard]] std::vector<Post> posts() const;
    [[nodiscard]] std::size_t connections() const { return connections_; }

private:
    void serve(const std::stop_token& stop);
    void answer(int fd, const std::stop_token& stop);

    UniqueFd listener_;
    std::uint16_t port_ = 0;
    std::atomic<unsigned> how_{200};
    std::atomic<std::size_t> connections_{0};
    mutable std::mutex mutex_;
    std::vector<Post> posts_;
    std::jthread thread_;
};

}  // namespace perfvigil::test
