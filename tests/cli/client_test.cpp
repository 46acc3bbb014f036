// SPDX-License-Identifier: GPL-2.0-or-later
// What a caller is told when talking to the daemon fails.
#include "cli/client.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <cstring>
#include <thread>

#include "base/fd.hpp"
#include "tests/support/temp_folder.hpp"

namespace perfvigil::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class ClientFailures : public testing::Test {
protected:
    // A socket as systemd holds it: callers get in before anybody answers.
    void listen_there() {
        listener_ = UniqueFd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
        sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
        ASSERT_LT(path_.size(), sizeof address.sun_path);
        std::memcpy(address.sun_path, path_.c_str(), path_.size());
        const void* any = &address;
        ASSERT_EQ(::bind(listener_.get(), static_cast<const sockaddr*>(any), sizeof address), 0);
        ASSERT_EQ(::listen(listener_.get(), 1), 0);
    }
    [[nodiscard]] std::string failure() const {
        const auto reply = get(path_, "/v1/status");
        return reply ? "an answer" : reply.error().message;
    }

    test::TempFolder folder_;
    std::string path_ = folder_ / "control.sock";
    UniqueFd listener_;
};

TEST_F(ClientFailures, NobodyListens) {
    EXPECT_THAT(failure(), AllOf(HasSubstr(path_), HasSubstr("start it (systemctl start perfvigild)")));
}

TEST_F(ClientFailures, TheDaemonCannotStart) {
    listen_there();
    // Closed with the caller in its queue: the connection is reset.
    std::thread ends([&] {
        std::array<char, 1> first{};
        UniqueFd caller(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
        (void)::recv(caller.get(), first.data(), first.size(), MSG_PEEK);
    });
    const auto said = failure();
    ends.join();
    EXPECT_THAT(said,
                AllOf(HasSubstr("the daemon ended before it answered"), HasSubstr("systemctl status perfvigild")));
}

TEST_F(ClientFailures, TheDaemonEndsInTheMiddle) {
    listen_there();
    std::thread ends([&] {
        std::array<char, 4096> request{};
        UniqueFd caller(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
        (void)::recv(caller.get(), request.data(), request.size(), 0);
        constexpr std::string_view kHalf = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{";
        (void)::send(caller.get(), kHalf.data(), kHalf.size(), MSG_NOSIGNAL);
    });
    const auto said = failure();
    ends.join();
    EXPECT_THAT(said, HasSubstr("the daemon ended before it answered"));
}

}  // namespace
}  // namespace perfvigil::cli
