// SPDX-License-Identifier: GPL-2.0-or-later
// A real debuginfod server on loopback, asked by `perfvigil report --debuginfod` for what was stripped off a program,
// and for the program itself.
#include <gtest/gtest.h>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>

#include "analyzer/symbols/elf_head.hpp"
#include "base/fd.hpp"
#include "base/text.hpp"
#include "tests/support/client.hpp"
#include "tests/support/live_recording.hpp"
#include "tests/support/paths.hpp"
#include "tests/support/report_view.hpp"
#include "tests/support/temp_folder.hpp"

namespace perfvigil {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

sockaddr_in loopback(std::uint16_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

std::uint16_t free_port() {
    const UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    auto address = loopback(0);
    socklen_t size = sizeof(address);
    if (::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), size) != 0 ||
        ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0)
        return 0;
    return ntohs(address.sin_port);
}

// Whether a GET of `path` is answered with 200.
bool serves(std::uint16_t port, const std::string& path) {
    const UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const auto address = loopback(port);
    if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) return false;
    const auto request = "GET " + path + " HTTP/1.0\r\nHost: localhost\r\n\r\n";
    if (!write_all(socket.get(), std::as_bytes(std::span(request)))) return false;
    std::array<char, 64> answer{};
    const auto got = ::recv(socket.get(), answer.data(), answer.size(), MSG_WAITALL);
    return got > 0 && std::string_view(answer.data(), static_cast<std::size_t>(got)).contains(" 200 ");
}

TEST(DebuginfodServer, NamesWhatIsNotOnThisHost) {
    if (const auto why = test::why_not_recordable(); !why.empty()) GTEST_SKIP() << why;
    for (const char* tool : {"debuginfod", "debuginfod-find", "cc", "objcopy", "strip"}) {
        if (std::system(("command -v " + std::string(tool) + " >/dev/null").c_str()) != 0)
            GTEST_SKIP() << tool << " is not installed";
    }
    const test::TempFolder folder;
    const auto source = folder.write("hot.c",
                                     "__attribute__((noinline)) unsigned long fetched_hot(unsigned long n) {\n"
                                     "    volatile unsigned long x = 0;\n"
                                     "    for (unsigned long i = 0; i < n; ++i) x += i;\n"
                                     "    return x;\n}\n"
                                     "int main(void) { for (;;) fetched_hot(1000000); }\n");
    fs::create_directory(folder / "served");
    const auto sh = [](const std::string& command) { return std::system(command.c_str()); };
    ASSERT_EQ(sh("cd " + (folder / "") + " && cc -g -O1 -fno-omit-frame-pointer -Wl,--build-id -o app " + source +
                 " && objcopy --only-keep-debug app served/app.debug && strip app && cp app served/"),
              0);
    const auto program = folder / "app";
    const auto fd = open_file(program, O_RDONLY);
    ASSERT_TRUE(fd);
    const auto head = analyzer::read_elf_head(fd->get());
    ASSERT_TRUE(head);

    const auto capture = folder / "app.data";
    // Started by the recorder, so that the kernel tells the build-id.
    (void)test::output_of(test::kPerfvigil,
                          {"record", "-o", capture, "-F", "499", "-e", "cpu-clock", "-d", "1s", "--", program});
    const auto port = free_port();
    test::Client server("/usr/bin/debuginfod",
                        {"-d", ":memory:", "-p", std::to_string(port), "-F", "-t", "0", folder / "served"});
    const auto build_id = head->build_id.hex();
    const auto deadline = std::chrono::steady_clock::now() + 20s;
    bool ready = false;
    while (!ready && std::chrono::steady_clock::now() < deadline) {
        std::this_thread::sleep_for(50ms);
        ready =
            serves(port, "/buildid/" + build_id + "/debuginfo") && serves(port, "/buildid/" + build_id + "/executable");
    }
    ASSERT_TRUE(ready) << "the server has not read its folder";

    ::setenv("XDG_CACHE_HOME", (folder / "cache").c_str(), 1);
    fs::create_directory(folder / "cache");
    const auto samples = [&](std::vector<std::string> more) {
        std::vector<std::string> arguments{"report", "--json", "--buildid-dir", "", capture};
        arguments.insert(arguments.end(), more.begin(), more.end());
        return test::ReportView::of_perfvigil(arguments).function("cpu-clock", "fetched_hot", "self_samples");
    };
    const auto url = "http://127.0.0.1:" + std::to_string(port);
    EXPECT_EQ(samples({}), 0U);
    EXPECT_GT(samples({"--debuginfod", url}), 50U);
    // Without the program itself too.
    fs::remove(program);
    EXPECT_EQ(samples({}), 0U);
    EXPECT_GT(samples({"--debuginfod", url}), 50U);
}

}  // namespace
}  // namespace perfvigil
