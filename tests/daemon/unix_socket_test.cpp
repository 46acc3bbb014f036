// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/unix_socket.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>

#include "tests/support/daemon_files.hpp"
#include "tests/support/temp_folder.hpp"

namespace perfvigil::daemon {
namespace {

using testing::HasSubstr;

mode_t mode_of(const std::string& path) {
    struct stat status{};
    EXPECT_EQ(::lstat(path.c_str(), &status), 0);
    return status.st_mode & 0777;
}

bool can_connect(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path.data(), path.size());
    const UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM, 0));
    return ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
}

TEST(ControlSocketTest, IsBornWithItsModeWhateverTheUmask) {
    const test::TempFolder folder;
    const mode_t before = ::umask(0);
    {
        const auto socket = ControlSocket::bind(folder / "a.sock", 0660, "");
        ASSERT_TRUE(socket) << socket.error().message;
        EXPECT_EQ(mode_of(folder / "a.sock"), 0660U);
        EXPECT_TRUE(can_connect(folder / "a.sock"));
    }
    ::umask(0077);
    {
        const auto socket = ControlSocket::bind(folder / "b.sock", 0640, "");
        ASSERT_TRUE(socket);
        EXPECT_EQ(mode_of(folder / "b.sock"), 0640U);
    }
    EXPECT_EQ(::umask(before), 0077U) << "the process's umask is as it was";
}

TEST(ControlSocketTest, ItsNameGoesWithIt) {
    const test::TempFolder folder;
    {
        const auto socket = ControlSocket::bind(folder / "run/a.sock", 0660, "");
    }
    EXPECT_NE(::access((folder / "run/a.sock").c_str(), F_OK), 0);
    EXPECT_EQ(::access((folder / "run").c_str(), F_OK), 0) << "its folder was made";
}

TEST(ControlSocketTest, ReplacesAStaleSocketOnly) {
    const test::TempFolder folder;
    const std::string path = folder / "a.sock";
    {
        // A daemon that was killed: the name stays, nobody listens.
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        std::memcpy(address.sun_path, path.data(), path.size());
        const UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM, 0));
        ASSERT_EQ(::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    }
    const auto first = ControlSocket::bind(path, 0660, "");
    ASSERT_TRUE(first) << first.error().message;

    const auto second = ControlSocket::bind(path, 0660, "");
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, ErrorCode::kBusy);
    EXPECT_THAT(second.error().message, HasSubstr("another perfvigild listens there"));
    EXPECT_TRUE(can_connect(path)) << "the first is unharmed";
}

TEST(ControlSocketTest, DoesNotRemoveAFile) {
    const test::TempFolder folder;
    test::spill(folder / "a.sock", "precious");
    const auto socket = ControlSocket::bind(folder / "a.sock", 0660, "");
    ASSERT_FALSE(socket);
    EXPECT_THAT(socket.error().message, HasSubstr("exists and is no socket"));
    EXPECT_EQ(test::slurp(folder / "a.sock"), "precious");
}

TEST(ControlSocketTest, LeavesASuccessorsName) {
    const test::TempFolder folder;
    const std::string path = folder / "a.sock";
    std::optional<ControlSocket> old;
    {
        auto made = ControlSocket::bind(path, 0660, "");
        ASSERT_TRUE(made);
        old.emplace(std::move(*made));
    }
    ASSERT_EQ(::unlink(path.c_str()), 0);
    const auto successor = ControlSocket::bind(path, 0660, "");
    ASSERT_TRUE(successor);
    old.reset();
    EXPECT_TRUE(can_connect(path));
}

TEST(ControlSocketTest, NamesWhatIsWrong) {
    const test::TempFolder folder;
    EXPECT_THAT(ControlSocket::bind("/" + std::string(200, 'x'), 0660, "").error().message, HasSubstr("too long"));
    EXPECT_THAT(ControlSocket::bind(folder / "a.sock", 0660, "no-such-group-here").error().message,
                HasSubstr("there is no group \"no-such-group-here\""));
    EXPECT_THAT(ControlSocket::bind("/nonexistent/deep/a.sock", 0660, "").error().message, HasSubstr("No such file"));
}

}  // namespace
}  // namespace perfvigil::daemon
