// SPDX-License-Identifier: GPL-2.0-or-later
// A perfvigild of the test's own: temporary folders, short slices, a free port, its log in a file.
#pragma once

#include <sys/types.h>

#include <boost/json.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tests/support/temp_folder.hpp"

namespace perfvigil::test {

struct HttpReply {
    unsigned status = 0;  // 0: no connection, or no HTTP
    std::string head;
    std::string body;
};

class DaemonProcess {
public:
    struct Settings {
        std::string slice = "1s";
        std::string window = "5s";
        std::string frequency = "99Hz";
        std::string recording{};  // further keys of their sections: ", rings: {samples: 64KiB}"
        std::string capturing{};
        std::string storing{};
        std::string sockets = ", read: \"\"";  // further keys of theirs
        std::string extra{};                   // further sections of the configuration
        std::string listen = "127.0.0.1:0";
        std::string store{};                     // empty: a folder of its own
        std::vector<std::string> arguments{};    // beside --config
        std::vector<std::string> environment{};  // NAME=VALUE
        std::optional<uid_t> user{};             // runs as this user
    };

    explicit DaemonProcess(TempFolder& folder) : folder_(folder) {}
    ~DaemonProcess();  // SIGKILL where it still runs
    DaemonProcess(const DaemonProcess&) = delete;
    DaemonProcess& operator=(const DaemonProcess&) = delete;

    void write_config(const Settings& settings);
    void start(const Settings& settings);
    void signal(int number) const;
    [[nodiscard]] pid_t pid() const { return pid_; }
    // Exit status, or -signal; nullopt: still running after `limit`.
    std::optional<int> wait(std::chrono::milliseconds limit);
    [[nodiscard]] bool running();

    // Polls until `holds`; false after `limit` or when the daemon ended.
    bool wait_until(const std::function<bool()>& holds, std::chrono::seconds limit = std::chrono::seconds(30));
    bool wait_ready();
    // At least this many completed windows.
    bool wait_windows(std::size_t count);
    bool wait_log(const std::string& text);

    [[nodiscard]] HttpReply get(const std::string& target) const;  // control socket
    [[nodiscard]] HttpReply get_tcp(const std::string& target, const std::string& host = "localhost") const;
    [[nodiscard]] boost::json::object get_json(const std::string& target) const;
    [[nodiscard]] bool is_degraded(const std::string& reason) const;  // now
    // Ids of completed and stored windows, newest first.
    [[nodiscard]] std::vector<std::string> stored_windows() const;

    [[nodiscard]] std::string log() const;
    [[nodiscard]] std::uint16_t port() const;  // from the log
    [[nodiscard]] std::string socket() const { return folder_ / "control.sock"; }
    [[nodiscard]] std::string config() const { return folder_ / "perfvigil.yaml"; }
    [[nodiscard]] std::string store() const { return folder_ / "store"; }
    [[nodiscard]] std::string captures() const { return folder_ / "captures"; }
    // Names in a folder that end with `suffix`, sorted.
    [[nodiscard]] static std::vector<std::string> files(const std::string& folder, const std::string& suffix);

private:
    TempFolder& folder_;
    pid_t pid_ = 0;
};

// Why daemons cannot be tested here (no right to record); empty: they can.
[[nodiscard]] std::string why_no_daemon();

}  // namespace perfvigil::test
