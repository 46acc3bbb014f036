// SPDX-License-Identifier: GPL-2.0-or-later
// Sessions over real sockets, served and used on one thread's io_context: the client's side is driven by the test.
#include "daemon/http_server.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <boost/asio/io_context.hpp>
#include <cstring>

#include "daemon/capture_stream.hpp"
#include "daemon/unix_socket.hpp"
#include "tests/support/temp_folder.hpp"

namespace perfvigil::daemon {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;
using testing::StartsWith;

class HttpServerTest : public testing::Test {
protected:
    void serve(HttpLimits limits = {}) {
        server.emplace(
            io,
            [this](const api::Request& request) {
                ++handled;
                api::Response response;
                response.content_type = "text/plain";
                response.body = std::string(request.method) + " " + std::string(request.target) + "\n" + extra;
                return response;
            },
            limits);
        auto bound = ControlSocket::bind(path, 0660, "");
        ASSERT_TRUE(bound) << bound.error().message;
        socket.emplace(std::move(*bound));
        ASSERT_TRUE(server->listen_on(socket->release_fd(), api::Door::kControl));
    }
    UniqueFd connect() {
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        std::memcpy(address.sun_path, path.data(), path.size());
        UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0));
        EXPECT_EQ(::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
        return fd;
    }
    static void send(const UniqueFd& fd, std::string_view text) {
        ASSERT_EQ(::send(fd.get(), text.data(), text.size(), MSG_NOSIGNAL), static_cast<ssize_t>(text.size()));
    }
    // What has come so far, until the peer closes or `enough` holds.
    std::string receive(const UniqueFd& fd, const std::function<bool(const std::string&)>& enough = {}) {
        std::string text;
        while (true) {
            std::array<char, 4096> buffer{};
            const auto n = ::recv(fd.get(), buffer.data(), buffer.size(), 0);
            if (n == 0) return text + "<closed>";
            if (n > 0) text.append(buffer.data(), static_cast<std::size_t>(n));
            if (enough && enough(text)) return text;
            if (n < 0) io.run_one_for(milliseconds(10));
        }
    }
    static auto ends_with(std::string what) {
        return [what](const std::string& text) { return text.ends_with(what); };
    }

    test::TempFolder folder;
    std::string path = folder / "s";
    boost::asio::io_context io;
    std::optional<HttpServer> server;
    std::optional<ControlSocket> socket;
    std::string extra;
    int handled = 0;
};

TEST_F(HttpServerTest, AnswersSeveralRequestsOnOneConnection) {
    serve();
    const auto fd = connect();
    for (int i = 0; i < 3; ++i) {
        send(fd, "GET /x HTTP/1.1\r\nHost: h\r\n\r\n");
        const auto text = receive(fd, ends_with("GET /x\n"));
        EXPECT_THAT(text, StartsWith("HTTP/1.1 200 OK\r\n"));
        EXPECT_THAT(text, HasSubstr("Content-Length: 7\r\n"));
    }
    send(fd, "GET /x HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
    EXPECT_THAT(receive(fd), testing::EndsWith("GET /x\n<closed>"));
}

TEST_F(HttpServerTest, AnswersPipelinedRequestsInOrder) {
    serve();
    const auto fd = connect();
    send(fd, "GET /1 HTTP/1.1\r\nHost: h\r\n\r\nGET /2 HTTP/1.1\r\nHost: h\r\n\r\n");
    const auto text = receive(fd, ends_with("GET /2\n"));
    EXPECT_LT(text.find("GET /1\n"), text.find("GET /2\n"));
}

TEST_F(HttpServerTest, HeadHasNoBody) {
    serve();
    const auto fd = connect();
    send(fd, "HEAD /x HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
    const auto text = receive(fd);
    EXPECT_THAT(text, HasSubstr("Content-Length: 8\r\n"));
    EXPECT_THAT(text, testing::EndsWith("\r\n\r\n<closed>"));
}

TEST_F(HttpServerTest, LargeAnswersArriveWhole) {
    extra = std::string(3U << 20, 'x');
    serve();
    const auto fd = connect();
    send(fd, "GET /x HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
    EXPECT_EQ(receive(fd).ends_with(extra + "<closed>"), true);
}

TEST_F(HttpServerTest, RefusesWhatIsNoRequestOrTooLarge) {
    const std::vector<std::pair<std::string, std::string>> cases{
        {"nonsense\r\n\r\n", "HTTP/1.1 400"},
        {"GET / HTTP/1.1\r\nX: " + std::string(9000, 'a') + "\r\n\r\n", "HTTP/1.1 431"},
        {"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc", "HTTP/1.1 413"},
        {"GET / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n", "HTTP/1.1 413"},
        {"GET / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", "HTTP/1.1 400"},
    };
    serve();
    for (const auto& [sent, answer] : cases) {
        const auto fd = connect();
        send(fd, sent);
        EXPECT_THAT(receive(fd), AllOf(StartsWith(answer), testing::EndsWith("<closed>"))) << sent.substr(0, 40);
    }
    EXPECT_EQ(handled, 0);
}

TEST_F(HttpServerTest, SilentAndSlowCallersAreCutOff) {
    serve({.request_time = milliseconds(20), .idle_time = milliseconds(20)});
    const auto silent = connect();
    EXPECT_EQ(receive(silent), "<closed>");
    const auto slow = connect();
    send(slow, "GET /x HTTP/1.1\r\nHos");
    EXPECT_EQ(receive(slow), "<closed>");
    EXPECT_EQ(handled, 0);
}

TEST_F(HttpServerTest, ACallerThatDoesNotReadIsCutOff) {
    extra = std::string(8U << 20, 'x');
    serve({.response_time = milliseconds(50)});
    const auto deaf = connect();
    send(deaf, "GET /x HTTP/1.1\r\nHost: h\r\n\r\n");
    for (int i = 0; i < 1000 && handled == 0; ++i) io.run_one_for(milliseconds(10));
    // Its time is up while it takes nothing; then the connection is gone.
    io.run_for(milliseconds(200));
    EXPECT_LT(receive(deaf).size(), extra.size());
}

TEST_F(HttpServerTest, WhereAllPlacesAreTakenTheOneThatIsSilentForLongestMakesRoom) {
    serve({.connections = 2});
    const auto first = connect();
    send(first, "GET /x HTTP/1.1\r\nHost: h\r\n\r\n");
    receive(first, ends_with("GET /x\n"));
    const auto second = connect();
    send(second, "GET /x HT");
    io.run_for(milliseconds(20));
    const auto third = connect();
    send(third, "GET /y HTTP/1.1\r\nHost: h\r\n\r\n");
    EXPECT_THAT(receive(third, ends_with("GET /y\n")), StartsWith("HTTP/1.1 200"));
    EXPECT_EQ(receive(first), "<closed>");
    EXPECT_EQ(server->refused_connections(), 1U);
    send(second, "TP/1.1\r\nHost: h\r\n\r\n");
    EXPECT_THAT(receive(second, ends_with("GET /x\n")), StartsWith("HTTP/1.1 200"));
}

TEST_F(HttpServerTest, CallersWhoOpenManyAndSayLittleHinderNobody) {
    serve({.connections = 8, .connections_per_user = 100});
    std::vector<UniqueFd> slow;
    for (int i = 0; i < 200; ++i) {
        slow.push_back(connect());
        send(slow.back(), "GET /slow HTTP/1.1\r\nX:");
        io.run_for(milliseconds(1));
        if (i % 20 != 0) continue;
        const auto fd = connect();
        send(fd, "GET /x HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
        EXPECT_THAT(receive(fd), StartsWith("HTTP/1.1 200")) << i;
    }
    EXPECT_EQ(handled, 10);
}

TEST_F(HttpServerTest, OneUserHasOnlyItsShareOfThePlaces) {
    serve({.connections = 8, .connections_per_user = 3});
    std::vector<UniqueFd> open;
    for (int i = 0; i < 4; ++i) {
        open.push_back(connect());
        io.run_for(milliseconds(5));
    }
    EXPECT_EQ(receive(open.front()), "<closed>");
    EXPECT_EQ(server->refused_connections(), 1U);
}

TEST_F(HttpServerTest, AUserWhoAsksTooOftenIsToldSo) {
    serve({.requests_per_second = 0.001, .requests_at_once = 2});
    for (const auto* answer : {"HTTP/1.1 200", "HTTP/1.1 200", "HTTP/1.1 429"}) {
        const auto fd = connect();
        send(fd, "GET /x HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
        EXPECT_THAT(receive(fd), StartsWith(answer));
    }
    EXPECT_EQ(handled, 2);
}

// An answer that comes over time: what the test pushes.
struct Streaming : HttpServerTest {
    void serve_stream() {
        server.emplace(
            io, [this](const api::Request&) { return api::Response{.content_type = "text/plain", .stream = body}; });
        auto bound = ControlSocket::bind(path, 0660, "");
        ASSERT_TRUE(bound) << bound.error().message;
        socket.emplace(std::move(*bound));
        ASSERT_TRUE(server->listen_on(socket->release_fd(), api::Door::kControl));
        fd = connect();
        send(fd, "POST /x HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n");
    }
    std::vector<CaptureStream::Caller> told;
    std::shared_ptr<CaptureStream> body =
        std::make_shared<CaptureStream>(1U << 24, [this](CaptureStream::Caller caller) { told.push_back(caller); });
    UniqueFd fd;
};

TEST_F(Streaming, PiecesGoOutAsTheyCome) {
    serve_stream();
    EXPECT_THAT(receive(fd, ends_with("\r\n\r\n")), HasSubstr("Transfer-Encoding: chunked\r\n"));
    EXPECT_TRUE(body->push("hello"));
    EXPECT_EQ(receive(fd, ends_with("hello\r\n")), "5\r\nhello\r\n");
    EXPECT_TRUE(server->streams());
    body->end();
    EXPECT_EQ(receive(fd), "0\r\n\r\n<closed>");
    EXPECT_FALSE(server->streams());
    EXPECT_TRUE(told.empty());
}

TEST_F(Streaming, ACallerThatClosesItsSideStillReads) {
    serve_stream();
    receive(fd, ends_with("\r\n\r\n"));
    ::shutdown(fd.get(), SHUT_WR);
    while (told.empty()) io.run_one_for(milliseconds(10));
    EXPECT_EQ(told.front(), CaptureStream::Caller::kFinished);
    EXPECT_TRUE(body->push("the rest"));
    body->end();
    EXPECT_EQ(receive(fd), "8\r\nthe rest\r\n0\r\n\r\n<closed>");
}

TEST_F(Streaming, ACallerThatIsGoneIsNoticedAtTheNextPiece) {
    serve_stream();
    receive(fd, ends_with("\r\n\r\n"));
    fd.reset();
    while (told.empty()) io.run_one_for(milliseconds(10));
    (void)body->push("for nobody");
    while (told.back() != CaptureStream::Caller::kGone) io.run_one_for(milliseconds(10));
    EXPECT_FALSE(body->push("for nobody"));
}

TEST_F(Streaming, GoesOnWhileNothingNewIsLetIn) {
    serve_stream();
    receive(fd, ends_with("\r\n\r\n"));
    server->stop_accepting();
    io.run_for(milliseconds(10));
    EXPECT_TRUE(body->push("x"));
    body->end();
    EXPECT_EQ(receive(fd), "1\r\nx\r\n0\r\n\r\n<closed>");
}

// Has something to say after a while, without news.
struct PatientBody final : BodyStream {
    Piece take() override { return asked++ == 0 ? Piece{} : Piece{"in the end", true}; }
    void on_news(std::function<void()>) override {}
    Nanoseconds patience() const override { return milliseconds(5); }
    void caller_finished() override {}
    void caller_gone() override {}
    int asked = 0;
};

TEST_F(HttpServerTest, AStreamIsAskedAgainWhenItsPatienceEnds) {
    server.emplace(io, [](const api::Request&) {
        return api::Response{.content_type = "text/plain", .stream = std::make_shared<PatientBody>()};
    });
    auto bound = ControlSocket::bind(path, 0660, "");
    ASSERT_TRUE(bound) << bound.error().message;
    socket.emplace(std::move(*bound));
    ASSERT_TRUE(server->listen_on(socket->release_fd(), api::Door::kControl));
    const auto fd = connect();
    send(fd, "GET /x HTTP/1.1\r\nHost: h\r\n\r\n");
    EXPECT_THAT(receive(fd), testing::EndsWith("a\r\nin the end\r\n0\r\n\r\n<closed>"));
}

TEST_F(HttpServerTest, RequestsPerConnectionAreLimited) {
    serve({.requests_per_connection = 2});
    const auto fd = connect();
    send(fd, "GET /1 HTTP/1.1\r\nHost: h\r\n\r\nGET /2 HTTP/1.1\r\nHost: h\r\n\r\nGET /3 HTTP/1.1\r\nHost: h\r\n\r\n");
    const auto text = receive(fd);
    EXPECT_THAT(text, HasSubstr("Connection: close\r\n"));
    EXPECT_EQ(handled, 2);
}

TEST_F(HttpServerTest, CloseEndsEverything) {
    serve();
    const auto fd = connect();
    send(fd, "GET /x HTTP/1.1\r\nHost: h\r\n\r\n");
    receive(fd, ends_with("GET /x\n"));
    server->close();
    EXPECT_EQ(receive(fd), "<closed>");
    io.run();  // ends: nothing is left to wait for
}

TEST_F(HttpServerTest, TcpPortIsTakenOrFree) {
    server.emplace(io, [](const api::Request&) { return api::Response{}; });
    const auto port = server->listen_tcp("127.0.0.1", 0);
    ASSERT_TRUE(port) << port.error().message;
    EXPECT_GT(*port, 0);
    const auto again = server->listen_tcp("127.0.0.1", *port);
    ASSERT_FALSE(again);
    EXPECT_EQ(again.error().error_number, EADDRINUSE);
    EXPECT_FALSE(server->listen_tcp("not an address", 1));
}

}  // namespace
}  // namespace perfvigil::daemon
