// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/support/scripted_collector.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <stdexcept>

#include "base/text.hpp"

namespace perfvigil::test {
namespace {

constexpr int kLookMs = 50;

bool readable(int fd, const std::stop_token& stop) {
    while (!stop.stop_requested()) {
        pollfd ready{fd, POLLIN, 0};
        if (::poll(&ready, 1, kLookMs) > 0) return true;
    }
    return false;
}

}  // namespace

ScriptedCollector::ScriptedCollector() : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    if (::bind(listener_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
        ::listen(listener_.get(), 16) != 0 ||
        ::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0) {
        throw std::runtime_error("no loopback port");
    }
    port_ = ntohs(address.sin_port);
    thread_ = std::jthread([this](const std::stop_token& stop) { serve(stop); });
}

ScriptedCollector::~ScriptedCollector() = default;

std::vector<ScriptedCollector::Post> ScriptedCollector::posts() const {
    const std::lock_guard lock(mutex_);
    return posts_;
}

void ScriptedCollector::serve(const std::stop_token& stop) {
    while (readable(listener_.get(), stop)) {
        const UniqueFd fd(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
        if (!fd) continue;
        ++connections_;
        if (how_ != kClose) answer(fd.get(), stop);
    }
}

void ScriptedCollector::answer(int fd, const std::stop_token& stop) {
    Post post;
    std::string text;
    std::size_t length = SIZE_MAX;
    std::array<char, 65536> buffer{};
    while (post.head.empty() || post.body.size() + text.size() < length) {
        if (!readable(fd, stop)) return;
        const auto n = ::recv(fd, buffer.data(), buffer.size(), 0);
        if (n <= 0) return;
        text.append(buffer.data(), static_cast<std::size_t>(n));
        const auto end = text.find("\r\n\r\n");
        if (!post.head.empty() || end == std::string::npos) continue;
        post.head = text.substr(0, end);
        text.erase(0, end + 4);
        constexpr std::string_view kLength = "Content-Length: ";
        auto rest = std::string_view(post.head).substr(post.head.find(kLength) + kLength.size());
        length = parse_number<std::size_t>(trim(next_piece(rest, '\n'))).value_or(0);
    }
    post.body = std::move(text);
    const auto how = how_.load();
    if (how == kHang) {
        // Until the other side gives up.
        while (readable(fd, stop) && ::recv(fd, buffer.data(), buffer.size(), 0) > 0) {
        }
        return;
    }
    if (how >= 200 && how < 300) {
        const std::lock_guard lock(mutex_);
        posts_.push_back(std::move(post));
    }
    const auto reply = how == kNoise ? std::string("what?\n")
                                     : "HTTP/1.1 " + std::to_string(how) + " x\r\nContent-Length: 2\r\n\r\n{}";
    (void)::send(fd, reply.data(), reply.size(), MSG_NOSIGNAL);
}

}  // namespace perfvigil::test
