// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/support/daemon_process.hpp"

#include <fcntl.h>
#include <grp.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <thread>

#include "base/fd.hpp"
#include "base/text.hpp"
#include "collector/recording_session.hpp"
#include "tests/support/daemon_files.hpp"
#include "tests/support/paths.hpp"

namespace perfvigil::test {
namespace {

using std::chrono::steady_clock;

HttpReply exchange(const UniqueFd& fd, const std::string& target, const std::string& host) {
    const std::string request = "GET " + target + " HTTP/1.1\r\nHost: " + host + "\r\nConnection: close\r\n\r\n";
    HttpReply reply;
    if (::send(fd.get(), request.data(), request.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(request.size())) {
        return reply;
    }
    std::string text;
    std::array<char, 65536> buffer{};
    while (true) {
        const auto n = ::recv(fd.get(), buffer.data(), buffer.size(), 0);
        if (n <= 0) break;
        text.append(buffer.data(), static_cast<std::size_t>(n));
    }
    const auto end = text.find("\r\n\r\n");
    if (end == std::string::npos || !text.starts_with("HTTP/1.1 ")) return reply;
    reply.status = parse_number<unsigned>(std::string_view(text).substr(9, 3)).value_or(0);
    reply.head = text.substr(0, end);
    reply.body = text.substr(end + 4);
    return reply;
}

template <class Address>
UniqueFd connect_to(int family, const Address& address) {
    UniqueFd fd(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const timeval limit{10, 0};
    ::setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) return {};
    return fd;
}

}  // namespace

DaemonProcess::~DaemonProcess() {
    if (pid_ == 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
}

void DaemonProcess::write_config(const Settings& s) {
    // High rates on a small host would be answered, and the test is of something else.
    const std::string budget = s.extra.find("budget:") == std::string::npos ? "budget: {cpu: 100%}\n" : "";
    spill(config(), "recording: {slice: " + s.slice + ", frequency: " + s.frequency + s.recording +
                        "}\nanalysis: {window: " + s.window + ", spread: 0s}\nstore: {dir: " +
                        (s.store.empty() ? store() : s.store) + s.storing + "}\ncaptures: {dir: " + captures() +
                        s.capturing + "}\nlisten: {address: \"" + s.listen + "\"}\nsockets: {control: " + socket() +
                        s.sockets + "}\nlog: {level: debug}\n" + budget + s.extra);
}

void DaemonProcess::start(const Settings& settings) {
    if (!settings.slice.empty()) write_config(settings);
    spill(folder_ / "log", "");
    std::vector<std::string> words{test::kPerfvigild, "--config", config()};
    words.insert(words.end(), settings.arguments.begin(), settings.arguments.end());
    std::vector<char*> argv;
    for (auto& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    const std::string log_path = folder_ / "log";
    pid_ = ::fork();
    if (pid_ < 0) throw std::runtime_error("fork");
    if (pid_ > 0) return;
    const int log = ::open(log_path.c_str(), O_WRONLY | O_APPEND);
    ::dup2(log, STDERR_FILENO);
    ::dup2(log, STDOUT_FILENO);
    for (const auto& variable : settings.environment) ::putenv(::strdup(variable.c_str()));
    if (settings.user &&
        (::setgroups(0, nullptr) != 0 || ::setgid(*settings.user) != 0 || ::setuid(*settings.user) != 0)) {
        ::_exit(126);
    }
    ::execv(argv[0], argv.data());
    ::_exit(127);
}

void DaemonProcess::signal(int number) const { ::kill(pid_, number); }

std::optional<int> DaemonProcess::wait(std::chrono::milliseconds limit) {
    const auto until = steady_clock::now() + limit;
    while (pid_ != 0) {
        int status = 0;
        const auto ended = ::waitpid(pid_, &status, WNOHANG);
        if (ended == pid_) {
            pid_ = 0;
            return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
        }
        if (steady_clock::now() > until) break;
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return std::nullopt;
}

bool DaemonProcess::running() {
    siginfo_t info{};
    return pid_ != 0 && ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           info.si_pid == 0;
}

bool DaemonProcess::wait_until(const std::function<bool()>& holds, std::chrono::seconds limit) {
    const auto until = steady_clock::now() + limit;
    while (steady_clock::now() < until) {
        if (holds()) return true;
        if (!running()) return false;
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return false;
}

bool DaemonProcess::wait_ready() {
    return wait_until([this] { return get("/readyz").status == 200; });
}

bool DaemonProcess::wait_windows(std::size_t count) {
    return wait_until([this, count] { return stored_windows().size() >= count; });
}

bool DaemonProcess::wait_log(const std::string& text) {
    return wait_until([this, &text] { return log().find(text) != std::string::npos; });
}

HttpReply DaemonProcess::get(const std::string& target) const {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const auto path = socket();
    std::memcpy(address.sun_path, path.data(), std::min(path.size(), sizeof address.sun_path - 1));
    const auto fd = connect_to(AF_UNIX, address);
    return fd ? exchange(fd, target, "localhost") : HttpReply{};
}

HttpReply DaemonProcess::get_tcp(const std::string& target, const std::string& host) const {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port());
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const auto fd = connect_to(AF_INET, address);
    return fd ? exchange(fd, target, host) : HttpReply{};
}

boost::json::object DaemonProcess::get_json(const std::string& target) const {
    boost::system::error_code error;
    const auto value = boost::json::parse(get(target).body, error);
    return value.is_object() ? value.as_object() : boost::json::object{};
}

bool DaemonProcess::is_degraded(const std::string& reason) const {
    const auto status = get_json("/v1/status");
    const auto* all = status.if_contains("degraded");
    return all != nullptr && std::ranges::any_of(all->as_array(), [&](const auto& one) {
               return one.at("reason").as_string() == reason;
           });
}

std::vector<std::string> DaemonProcess::stored_windows() const {
    std::vector<std::string> ids;
    const auto reply = get_json("/v1/windows?limit=1000");
    const auto* windows = reply.if_contains("windows");
    if (windows == nullptr) return ids;
    for (const auto& window : windows->as_array()) {
        if (window.at("stored").as_bool()) ids.emplace_back(window.at("id").as_string());
    }
    return ids;
}

std::string DaemonProcess::log() const { return slurp(folder_ / "log"); }

std::uint16_t DaemonProcess::port() const {
    const auto text = log();
    constexpr std::string_view kBefore = "listening address=127.0.0.1 port=";
    const auto at = text.rfind(kBefore);
    if (at == std::string::npos) return 0;
    const auto number = std::string_view(text).substr(at + kBefore.size());
    return parse_number<std::uint16_t>(number.substr(0, number.find_first_not_of("0123456789"))).value_or(0);
}

std::vector<std::string> DaemonProcess::files(const std::string& folder, const std::string& suffix) {
    std::vector<std::string> names;
    std::error_code error;
    for (std::filesystem::directory_iterator i(folder, error), end; !error && i != end; i.increment(error)) {
        if (i->path().string().ends_with(suffix)) names.push_back(i->path().filename());
    }
    std::ranges::sort(names);
    return names;
}

std::string why_no_daemon() {
    const auto session = collector::RecordingSession::open({}, system_clock());
    return session ? std::string() : "this host cannot be recorded: " + session.error().message;
}

}  // namespace perfvigil::test
