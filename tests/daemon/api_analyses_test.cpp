// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/api_analyses.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <chrono>
#include <condition_variable>
#include <latch>
#include <mutex>

#include "analyzer/profile/codec.hpp"
#include "daemon/later.hpp"
#include "tests/support/daemon_fake_source.hpp"
#include "tests/support/daemon_profile.hpp"

namespace perfvigil::daemon::api {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;
using testing::StartsWith;

// Sleeps until the answer is there, as a session does.
Response arrived(Later& later) {
    std::mutex mutex;
    std::condition_variable news;
    int woken = 0;
    later.on_news([&] {
        const std::lock_guard lock(mutex);
        ++woken;
        news.notify_one();
    });
    auto response = later.take();
    std::unique_lock lock(mutex);
    while (!response) {
        if (!news.wait_for(lock, seconds(20), [&] { return woken > 0; })) return {.status = 0};
        lock.unlock();
        response = later.take();
        lock.lock();
    }
    lock.unlock();
    later.on_news({});
    return std::move(*response);
}

struct AnalysesTest : testing::Test {
    AnalysesTest() {
        for (int i = 1; i <= 3; ++i) {
            const auto profile = test::small_profile("20260131T12050" + std::to_string(i) + "Z", 1000 + 60 * i,
                                                     1000U * static_cast<unsigned>(i));
            auto bytes = analyzer::encode_profile(profile);
            const auto size = bytes.size();
            source.add(describe(profile, size), std::move(bytes));
        }
    }
    Response get(std::string_view target, std::string_view method = "GET") {
        const std::vector<Header> headers{{"Host", "localhost"}};
        auto response = respond({method, target, headers, Door::kRead}, rules, source);
        return response.later ? arrived(*response.later) : response;
    }
    Rules rules;
    test::FakeSource source;
};

TEST_F(AnalysesTest, ExportsAWindowOrAStretch) {
    EXPECT_EQ(get("/v1/export?to=folded&window=20260131T120501Z").content(), "spin;spin_here 10101010000\n");
    EXPECT_EQ(get("/v1/export?to=folded").content(), "spin;spin_here 30303030000\n") << "the newest";
    // The first two windows: they end at 1060 and 1120 s.
    EXPECT_EQ(get("/v1/export?to=folded&since=1000000000000&until=1120000000000").content(),
              "spin;spin_here 30303030000\n");
    const auto pprof = get("/v1/export?to=pprof");
    EXPECT_EQ(pprof.content_type, "application/octet-stream");
    EXPECT_THAT(std::string(pprof.content()), StartsWith("\x1f\x8b")) << "gzip";
    EXPECT_THAT(std::string(get("/v1/export?to=speedscope").content()), HasSubstr("spin_here"));
}

TEST_F(AnalysesTest, ExportsWhatIsSelected) {
    EXPECT_EQ(get("/v1/export?to=folded&comm=spin&unit=spin.service&event=cpu-clock").status, 200U);
    EXPECT_EQ(get("/v1/export?to=folded&event=cycles").status, 404U);
    EXPECT_EQ(get("/v1/export?to=folded&comm=other").status, 404U) << "no samples are left";
    EXPECT_EQ(get("/v1/export?to=folded", "HEAD").content(), "");
}

TEST_F(AnalysesTest, ComparesTwoWindows) {
    const auto response = get("/v1/diff?before=20260131T120501Z&after=20260131T120502Z");
    ASSERT_EQ(response.status, 200U) << response.content();
    const auto json = boost::json::parse(response.content()).as_object();
    EXPECT_FALSE(json.at("changed").as_bool());
    const auto& event = json.at("events").at(0).as_object();
    EXPECT_EQ(event.at("event").as_string(), "cpu-clock");
    EXPECT_EQ(event.at("before").at("id").as_string(), "20260131T120501Z");
    const auto by_unit = get("/v1/diff?by=unit&before=1000000000000..1060000000000&after=latest&top=1");
    ASSERT_EQ(by_unit.status, 200U) << by_unit.content();
    EXPECT_THAT(std::string(by_unit.content()), HasSubstr("spin.service"));
}

TEST_F(AnalysesTest, RefusesWhatMustNotBeCompared) {
    auto other = test::small_profile("20260131T130000Z", 5000);
    other.events.front().name = "page-faults";
    auto bytes = analyzer::encode_profile(other);
    const auto size = bytes.size();
    source.add(describe(other, size), std::move(bytes));
    EXPECT_EQ(get("/v1/diff?before=20260131T120501Z&after=20260131T130000Z").status, 409U);
}

TEST_F(AnalysesTest, SaysWhatIsWrong) {
    for (const auto* wrong :
         {"/v1/export?to=pdf", "/v1/export?since=5", "/v1/export?since=5&until=4", "/v1/export?window=../x",
          "/v1/export?raw=yes", "/v1/export?raw=true", "/v1/export?nothing=1", "/v1/diff?before=latest",
          "/v1/diff?before=latest&after=..", "/v1/diff?before=latest&after=latest&by=colour",
          "/v1/diff?before=latest&after=latest&force=1", "/v1/diff?before=latest&after=latest&top=x", "/v1/raw/heat",
          "/v1/raw/heat?since=1&until=x", "/v1/raw/heat?since=0&until=601000000000",
          "/v1/raw/heat?since=0&until=1000&rows=0", "/v1/raw/heat?since=0&until=1000&rows=101",
          "/v1/raw/profile?since=0&until=1000&rows=5"}) {
        EXPECT_EQ(get(wrong).status, 400U) << wrong;
    }
    for (const auto* absent :
         {"/v1/export?window=20260131T235959Z", "/v1/export?since=1&until=2", "/v1/diff?before=latest&after=1..2",
          "/v1/raw/heat?since=0&until=1000", "/v1/raw/profile?since=0&until=1000", "/v1/raw", "/v1/raw/else"}) {
        EXPECT_EQ(get(absent).status, 404U) << absent;
    }
    source.profiles["20260131T120503Z"] = std::vector<std::byte>(7);
    EXPECT_EQ(get("/v1/export?to=folded").status, 500U);
}

TEST_F(AnalysesTest, TooManyAreRefusedAndAnEndRefusesTheRest) {
    std::mutex gate;
    std::unique_lock hold(gate);
    std::latch begun(1);
    const auto at_work = source.desk.ask([&](const std::stop_token&) {
        begun.count_down();
        const std::lock_guard wait(gate);
        return Response{};
    });
    begun.wait();
    const auto block = [](const std::stop_token&) { return Response{}; };
    std::vector<std::shared_ptr<Later>> waiting;
    while (auto later = source.desk.ask(block)) waiting.push_back(std::move(later));
    EXPECT_EQ(waiting.size(), AnalysisDesk::kMostWaiting);
    EXPECT_EQ(get("/v1/export?to=folded").status, 429U);
    source.desk.close();
    EXPECT_EQ(arrived(*waiting.back()).status, 503U);
    EXPECT_EQ(source.desk.ask(block), nullptr);
    hold.unlock();
    EXPECT_EQ(arrived(*at_work).status, 200U);
}

TEST_F(AnalysesTest, ABugCostsOneAnswer) {
    const auto broken = source.desk.ask([](const std::stop_token&) -> Response { throw std::runtime_error("oh"); });
    EXPECT_EQ(arrived(*broken).status, 500U);
    EXPECT_EQ(get("/v1/export?to=folded").status, 200U);
}

}  // namespace
}  // namespace perfvigil::daemon::api
