// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/ship_target.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <span>
#include <utility>

#include <fmt/format.h>
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

#include "base/fd.hpp"
#include "base/text.hpp"
#include "config/ship.hpp"
#include "daemon/store_files.hpp"

namespace perfvigil::daemon {
namespace {

namespace http = boost::beast::http;

// --- a folder

class FolderTarget final : public ShipTarget {
public:
    FolderTarget(std::string folder, std::uint64_t free_limit) : folder_(std::move(folder)), free_limit_(free_limit) {}

    Result<void> send(const Shipment& shipment, const WakeEvent&) override {
        std::error_code error;
        std::filesystem::create_directories(folder_, error);
        if (error) return fail_errno(error.value(), folder_);
        if (const auto free = free_bytes(folder_); free && *free < free_limit_ + shipment.bytes.size()) {
            return fail(ErrorCode::kExhausted, folder_ + ": less than store.free is left there");
        }
        const auto path = fmt::format("{}/{}.{}", folder_, shipment.id, shipment.suffix);
        const auto temporary = path + ".partial";
        const auto fd = open_file(temporary, O_WRONLY | O_CREAT | O_TRUNC, 0640);
        if (!fd) return fail(fd.error());
        auto done = write_all(fd->get(), std::as_bytes(std::span(shipment.bytes)));
        if (done && ::fdatasync(fd->get()) != 0) done = fail_errno(errno, temporary);
        if (done && std::rename(temporary.c_str(), path.c_str()) != 0) done = fail_errno(errno, path);
        if (!done) ::unlink(temporary.c_str());
        return done;
    }

private:
    std::string folder_;
    std::uint64_t free_limit_;
};

// --- a collector

struct Address {
    sockaddr_storage storage{};
    socklen_t size = 0;
};

// Numbers only: a resolver that hangs would hold the daemon's end.
Address address_of(const config::ShipUrl& url) {
    Address address;
    in6_addr v6{};
    if (::inet_pton(AF_INET6, url.host.c_str(), &v6) == 1) {
        sockaddr_in6 in{};
        in.sin6_family = AF_INET6;
        in.sin6_port = htons(url.port);
        in.sin6_addr = v6;
        *reinterpret_cast<sockaddr_in6*>(&address.storage) = in;
        address.size = sizeof in;
        return address;
    }
    sockaddr_in in{};
    in.sin_family = AF_INET;
    in.sin_port = htons(url.port);
    const auto& host = url.host == "localhost" ? std::string("127.0.0.1") : url.host;
    ::inet_pton(AF_INET, host.c_str(), &in.sin_addr);  // config::ShipFormat has tried it
    *reinterpret_cast<sockaddr_in*>(&address.storage) = in;
    address.size = sizeof in;
    return address;
}

class HttpTarget final : public ShipTarget {
public:
    HttpTarget(config::ShipUrl url, ShipLimits limits) : url_(std::move(url)), limits_(limits) {}

    Result<void> send(const Shipment& shipment, const WakeEvent& stop) override {
        auto sent = post(shipment, stop);
        if (!sent) return fail(std::move(sent.error()).at(url_.text()));
        return sent;
    }

private:
    // Waits until the socket is ready for `events`.
    [[nodiscard]] static Result<void> wait(int fd, short events, MonotonicTime until, const WakeEvent& stop) {
        while (true) {
            const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - system_clock().monotonic()).count();
            if (left <= 0) return fail(ErrorCode::kBusy, "no answer in time");
            std::array<pollfd, 2> fds{pollfd{fd, events, 0}, pollfd{stop.fd(), POLLIN, 0}};
            const int ready = ::poll(fds.data(), fds.size(), static_cast<int>(std::min<std::int64_t>(left, 60000)));
            if (ready < 0 && errno != EINTR) return fail_errno(errno, "poll");
            if (fds[1].revents != 0) return fail(ErrorCode::kCancelled, "the daemon stops");
            if (ready > 0 && fds[0].revents != 0) return {};
        }
    }

    [[nodiscard]] Result<UniqueFd> connect(const WakeEvent& stop) const {
        const auto address = address_of(url_);
        UniqueFd fd(::socket(address.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
        if (!fd) return fail_errno(errno, "socket");
        const auto until = system_clock().monotonic() + limits_.connect;
        if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address.storage), address.size) != 0) {
            if (errno != EINPROGRESS) return fail_errno(errno, "connecting");
            if (auto ready = wait(fd.get(), POLLOUT, until, stop); !ready) return fail(std::move(ready.error()));
            int error = 0;
            socklen_t size = sizeof error;
            if (::getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &size) != 0) error = errno;
            if (error != 0) return fail_errno(error, "connecting");
        }
        return fd;
    }

    [[nodiscard]] static Result<void> write(int fd, std::string_view bytes, MonotonicTime until,
                                            const WakeEvent& stop) {
        while (!bytes.empty()) {
            const auto n = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
            if (n >= 0) {
                bytes.remove_prefix(static_cast<std::size_t>(n));
                continue;
            }
            if (errno == EINTR) continue;
            // It may have answered already, without reading all: that answer tells more.
            if (errno == EPIPE || errno == ECONNRESET) return {};
            if (errno != EAGAIN) return fail_errno(errno, "sending");
            if (auto ready = wait(fd, POLLOUT, until, stop); !ready) return ready;
        }
        return {};
    }

    [[nodiscard]] Result<unsigned> read_status(int fd, MonotonicTime until, const WakeEvent& stop) const {
        http::response_parser<http::string_body> parser;
        parser.body_limit(limits_.answer);
        std::string text;
        std::array<char, 4096> piece{};
        while (!parser.is_header_done()) {
            if (auto ready = wait(fd, POLLIN, until, stop); !ready) return fail(std::move(ready.error()));
            const auto n = ::recv(fd, piece.data(), piece.size(), 0);
            if (n < 0 && (errno == EINTR || errno == EAGAIN)) continue;
            if (n < 0) return fail_errno(errno, "the answer");
            if (n == 0) return fail(ErrorCode::kIo, "closed without an answer");
            text.append(piece.data(), static_cast<std::size_t>(n));
            if (text.size() > limits_.answer) return fail(ErrorCode::kIo, "the head of its answer does not end");
            boost::system::error_code error;
            const auto used = parser.put(boost::asio::buffer(text), error);
            if (error && error != http::error::need_more) return fail(ErrorCode::kIo, "does not speak HTTP");
            text.erase(0, used);
        }
        return parser.get().result_int();
    }

    [[nodiscard]] Result<void> post(const Shipment& shipment, const WakeEvent& stop) const {
        auto fd = connect(stop);
        if (!fd) return fail(std::move(fd.error()));
        const auto until = system_clock().monotonic() + limits_.exchange;
        const auto head = fmt::format(
            "POST {} HTTP/1.1\r\nHost: {}\r\nUser-Agent: perfvigil/" PERFVIGIL_VERSION
            "\r\nContent-Type: {}\r\nContent-Length: {}\r\nX-Perfvigil-Window: {}\r\nConnection: close\r\n\r\n",
            url_.target, url_.authority(), shipment.media_type, shipment.bytes.size(), shipment.id);
        if (auto sent = write(fd->get(), head, until, stop); !sent) return sent;
        if (auto sent = write(fd->get(), shipment.bytes, until, stop); !sent) return sent;
        const auto status = read_status(fd->get(), until, stop);
        if (!status) return fail(status.error());
        if (*status >= 200 && *status < 300) return {};
        // Those say "not now"; the other refusals would be the same the next time.
        const bool later = *status >= 500 || *status == 408 || *status == 425 || *status == 429 || *status < 400;
        return fail(later ? ErrorCode::kBusy : ErrorCode::kInvalid, fmt::format("answered {}", *status));
    }

    config::ShipUrl url_;
    ShipLimits limits_;
};

}  // namespace

std::unique_ptr<ShipTarget> make_ship_target(const config::ShipOptions& options, std::uint64_t free_limit,
                                             ShipLimits limits) {
    if (const auto url = config::parse_ship_url(options.to)) return std::make_unique<HttpTarget>(*url, limits);
    return std::make_unique<FolderTarget>(options.to, free_limit);
}

}  // namespace perfvigil::daemon
