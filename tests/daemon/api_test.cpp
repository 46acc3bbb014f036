// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/api.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "analyzer/profile/codec.hpp"
#include "daemon/api_captures.hpp"
#include "daemon/api_frozen.hpp"
#include "daemon/capture_stream.hpp"
#include "tests/support/daemon_fake_source.hpp"
#include "tests/support/daemon_profile.hpp"
#include "tests/support/temp_folder.hpp"

namespace perfvigil::daemon::api {
namespace {

using testing::HasSubstr;
using Headers = std::vector<Header>;

const Headers kLocal{{"Host", "localhost:9909"}};

class ApiTest : public testing::Test {
protected:
    ApiTest() {
        for (int i = 1; i <= 3; ++i) {
            const auto profile = test::small_profile("20260131T12050" + std::to_string(i) + "Z", 1000 + i);
            auto bytes = analyzer::encode_profile(profile);
            const auto size = bytes.size();
            source.add(describe(profile, size), std::move(bytes));
        }
    }

    Response get(std::string_view target, Door door = Door::kControl, const Headers& headers = kLocal,
                 std::string_view method = "GET") {
        return respond({method, target, headers, door}, rules, source);
    }
    boost::json::object get_json(std::string_view target) {
        const auto response = get(target);
        EXPECT_EQ(response.status, 200U) << response.content();
        EXPECT_EQ(response.content_type, "application/json");
        return boost::json::parse(response.content()).as_object();
    }

    test::FakeSource source;
    Rules rules;
};

TEST_F(ApiTest, MetricsAndHealthOnEveryDoor) {
    for (const auto door : {Door::kTcp, Door::kControl, Door::kRead}) {
        EXPECT_EQ(get("/metrics", door).content(), "up 1\n");
        EXPECT_EQ(get("/metrics", door).content_type, "text/plain; version=0.0.4; charset=utf-8");
        EXPECT_EQ(get("/healthz", door).status, 200U);
        EXPECT_EQ(get("/readyz?verbose", door).content(), "ok\n");
    }
    source.why_unhealthy = "the sampler has not run for 12 s";
    source.why_not_ready = "no slice is complete yet";
    EXPECT_EQ(get("/healthz").status, 503U);
    EXPECT_EQ(get("/healthz").content(), "the sampler has not run for 12 s\n");
    EXPECT_EQ(get("/readyz").status, 503U);
    EXPECT_EQ(get("/readyz").content(), "no slice is complete yet\n");
}

TEST_F(ApiTest, ProfilesNeedASocketOrAToken) {
    const std::vector<const char*> inner{"/v1/status", "/v1/windows", "/v1/windows/latest/report", "/v1/anything"};
    for (const auto* target : inner) {
        const auto response = get(target, Door::kTcp);
        EXPECT_EQ(response.status, 403U) << target;
        EXPECT_THAT(std::string(response.content()), HasSubstr("served on the sockets only, or over TCP with a token"));
        EXPECT_EQ(get(target, Door::kRead).status, get(target, Door::kControl).status) << target;
    }
    EXPECT_EQ(get("/v1/windows/latest/profile", Door::kRead).status, 200U);
    rules.token = "s3cret";
    const Headers bearer{{"Host", "localhost"}, {"Authorization", "Bearer s3cret"}};
    EXPECT_EQ(get("/v1/windows/latest/report", Door::kTcp, bearer).status, 200U);
    EXPECT_EQ(get("/v1/windows/latest/report", Door::kTcp).status, 401U);
    EXPECT_EQ(get("/v1/captures", Door::kTcp, bearer).status, 403U);
}

TEST_F(ApiTest, TheTokenMayBeACookie) {
    rules.token = "s3cret";
    const auto with = [&](std::string_view cookie) {
        return get("/v1/status", Door::kTcp, {{"Host", "localhost"}, {"Cookie", cookie}}).status;
    };
    EXPECT_EQ(with("perfvigil_token=s3cret"), 200U);
    EXPECT_EQ(with("a=1; perfvigil_token=s3cret; b=2"), 200U);
    for (const auto* wrong : {"", "perfvigil_token=", "perfvigil_token=s3cre", "xperfvigil_token=s3cret", "s3cret",
                              "perfvigil_token=s3cret2", "perfvigil_token=x; perfvigil_token=s3cret"}) {
        EXPECT_EQ(with(wrong), 401U) << wrong;
    }
    const Headers from_elsewhere{
        {"Host", "localhost"}, {"Cookie", "perfvigil_token=s3cret"}, {"Sec-Fetch-Site", "cross-site"}};
    EXPECT_EQ(get("/v1/status", Door::kTcp, from_elsewhere).status, 403U);
    const Headers rebound{{"Host", "evil.example"}, {"Cookie", "perfvigil_token=s3cret"}};
    EXPECT_EQ(get("/v1/status", Door::kTcp, rebound).status, 421U);
}

// Captures that only remember what was asked.
struct FakeCaptures final : Captures {
    std::expected<std::shared_ptr<BodyStream>, Refusal> begin(CaptureRequest request,
                                                              const std::optional<Peer>& by) override {
        peer = by;
        asked.push_back(std::move(request));
        if (refusal) return std::unexpected(*refusal);
        return std::make_shared<CaptureStream>(100, nullptr);
    }
    std::string list_json() const override { return R"({"captures":[]})"; }
    Nanoseconds longest() const override { return std::chrono::seconds(60); }
    std::vector<CaptureRequest> asked;
    std::optional<Peer> peer;
    std::optional<Refusal> refusal;
};

TEST_F(ApiTest, CapturesAreTheControlSocketsAlone) {
    FakeCaptures captures;
    source.on_demand = &captures;
    const auto post = [&](Door door, std::string_view target = "/v1/captures?duration=5s") {
        return get(target, door, kLocal, "POST").status;
    };
    EXPECT_EQ(post(Door::kTcp), 403U);
    EXPECT_EQ(post(Door::kRead), 405U);
    EXPECT_EQ(get("/v1/captures", Door::kRead).status, 403U);
    rules.token = "s3cret";
    const Headers bearer{{"Host", "localhost"}, {"Authorization", "Bearer s3cret"}};
    EXPECT_EQ(get("/v1/captures", Door::kTcp, bearer, "POST").status, 405U);
    EXPECT_TRUE(captures.asked.empty());
    const auto begun =
        respond({"POST", "/v1/captures?duration=5s", kLocal, Door::kControl, Peer{1000, 77}}, rules, source);
    EXPECT_EQ(begun.status, 200U);
    EXPECT_TRUE(begun.stream);
    EXPECT_EQ(begun.content_type, "text/plain; charset=utf-8");
    ASSERT_EQ(captures.asked.size(), 1U);
    EXPECT_EQ(captures.asked.front().duration, std::chrono::seconds(5));
    EXPECT_EQ(captures.peer->uid, 1000U);
    EXPECT_EQ(get("/v1/captures").content(), "{\"captures\":[]}\n");
    for (const auto* other : {"/v1/windows", "/v1/captures/1", "/metrics"})
        EXPECT_EQ(post(Door::kControl, other), 405U);
    EXPECT_EQ(get("/v1/captures", Door::kControl, kLocal, "DELETE").status, 405U);
    EXPECT_EQ(post(Door::kControl, "/v1/captures?duration=61s"), 400U);
    captures.refusal = Refusal{409, "too dear"};
    EXPECT_EQ(post(Door::kControl), 409U);
    source.on_demand = nullptr;
    EXPECT_EQ(post(Door::kControl), 501U);
}

TEST_F(ApiTest, LiveGivesTheNewestSliceOrWhatCameSince) {
    source.live.put("s1");
    source.live.put("s2");
    EXPECT_EQ(get("/v1/live").content(), "s2;");
    EXPECT_EQ(get("/v1/live").content_type, "application/json");
    EXPECT_EQ(get("/v1/live?after=0").content(), "s1;s2;");
    EXPECT_EQ(get("/v1/live?after=1", Door::kRead).content(), "s2;");
    EXPECT_EQ(get("/v1/live", Door::kTcp).status, 403U);
    for (const auto* wrong : {"/v1/live?after=x", "/v1/live?after=-1", "/v1/live?before=1"}) {
        EXPECT_EQ(get(wrong).status, 400U) << wrong;
    }
}

// Freezes that are only remembered.
struct FakeFrozen final : Frozen {
    Answer freeze(FreezeRequest request, const std::optional<Peer>& by) override {
        peer = by;
        asked.push_back(std::move(request));
        return std::make_shared<CaptureStream>(100, nullptr);
    }
    Answer thaw(std::string id) override {
        thawed.push_back(std::move(id));
        return std::make_shared<CaptureStream>(100, nullptr);
    }
    std::string list_json() const override { return R"({"frozen":[]})"; }
    std::vector<FreezeRequest> asked;
    std::vector<std::string> thawed;
    std::optional<Peer> peer;
};

TEST_F(ApiTest, FreezingIsTheControlSocketsAlone) {
    const auto post = [&](std::string_view target, Door door = Door::kControl) {
        return get(target, door, kLocal, "POST");
    };
    EXPECT_EQ(post("/v1/frozen").status, 501U) << "nothing is kept here";
    EXPECT_EQ(get("/v1/frozen").status, 501U);
    FakeFrozen frozen;
    source.kept = &frozen;
    EXPECT_EQ(post("/v1/frozen", Door::kRead).status, 405U);
    EXPECT_EQ(post("/v1/frozen/20260131T120501Z/thaw", Door::kRead).status, 405U);
    EXPECT_EQ(get("/v1/frozen", Door::kTcp).status, 403U);
    EXPECT_EQ(get("/v1/frozen", Door::kRead).content(), "{\"frozen\":[]}\n");
    EXPECT_TRUE(frozen.asked.empty());

    const auto response =
        respond({"POST", "/v1/frozen?last=5min&label=a%20%0Ab", kLocal, Door::kControl, Peer{7, 8}}, rules, source);
    EXPECT_EQ(response.status, 200U);
    EXPECT_TRUE(response.stream);
    EXPECT_EQ(frozen.asked.at(0).last, std::chrono::minutes(5));
    EXPECT_EQ(frozen.asked.at(0).label, "a \\x0ab");
    EXPECT_EQ(frozen.peer->uid, 7U);
    EXPECT_EQ(post("/v1/frozen").status, 200U);
    EXPECT_EQ(frozen.asked.at(1).last, std::chrono::minutes(10));

    EXPECT_EQ(post("/v1/frozen/20260131T120501Z-busy/thaw").status, 200U);
    EXPECT_EQ(frozen.thawed, std::vector<std::string>{"20260131T120501Z-busy"});
    for (const auto* target : {"/v1/frozen/..%2f..%2fetc/thaw", "/v1/frozen/../thaw", "/v1/frozen//thaw",
                               "/v1/frozen/20260131T120501Z", "/v1/frozen/20260131T120501Z/melt"}) {
        EXPECT_EQ(post(target).status, 404U) << target;
    }
    EXPECT_EQ(get("/v1/frozen/20260131T120501Z").status, 404U);
    for (const auto* target : {"/v1/frozen?last=5", "/v1/frozen?last=0", "/v1/frozen?x=1", "/v1/frozen?label=a&label=b",
                               "/v1/frozen?last=1s&last=2s", "/v1/frozen/20260131T120501Z/thaw?x=1"}) {
        EXPECT_EQ(post(target).status, 400U) << target;
    }
    EXPECT_EQ(post("/v1/frozen?label=" + std::string(81, 'x')).status, 400U);
    EXPECT_EQ(frozen.thawed.size(), 1U);
    EXPECT_EQ(frozen.asked.size(), 2U);
}

TEST_F(ApiTest, LiveWaitsForTheNextSlice) {
    source.live.put("s1");
    const auto waiting = get("/v1/live?after=1");
    ASSERT_TRUE(waiting.stream);
    EXPECT_FALSE(waiting.stream->take().last);
    source.live.put("s2");
    EXPECT_EQ(waiting.stream->take().bytes, "s2;");
    // There is nothing to wait for before a head.
    EXPECT_FALSE(get("/v1/live?after=2", Door::kControl, kLocal, "HEAD").stream);
    std::vector<Response> others;
    while (others.size() < LiveFeed::kMostWaiters - 1) others.push_back(get("/v1/live?after=2"));
    EXPECT_TRUE(others.back().stream);
    EXPECT_EQ(get("/v1/live?after=2").status, 429U);
}

// The page, installed in a folder of the test's own; what a browser of this host would send.
struct PageTest : ApiTest {
    PageTest() {
        folder.write("index.html", "<!doctype html>page");
        folder.write("app.js", "run()");
        folder.write("secret.yaml", "not a page's file");
        source.web_page = Page(folder.path().string());
        rules.origin = "http://127.0.0.1:9909";
    }
    // What `perfvigil web` prints, without the origin.
    std::string invitation(Door door = Door::kControl) {
        const auto response = get("/v1/web", door, kLocal, "POST");
        EXPECT_EQ(response.status, 200U) << response.content();
        const auto url = boost::json::parse(response.content()).at("url").as_string();
        EXPECT_TRUE(std::string_view(url).starts_with(rules.origin + "/open?key="));
        return std::string(std::string_view(url).substr(rules.origin.size()));
    }
    static std::string value_of(const Response& response, std::string_view name) {
        for (const auto& [key, value] : response.headers) {
            if (key == name) return value;
        }
        return {};
    }
    Response browse(std::string_view target, std::string_view cookie = "", std::string_view site = "same-origin",
                    std::string_view host = "127.0.0.1:9909", Door door = Door::kTcp) {
        const Headers headers{{"Host", host}, {"Sec-Fetch-Site", site}, {"Cookie", cookie}};
        return get(target, door, headers);
    }
    std::string open(const std::string& target) {
        auto cookie = value_of(browse(target, "", "none"), "Set-Cookie");
        return cookie.substr(0, cookie.find(';'));
    }
    test::TempFolder folder;
};

TEST_F(PageTest, AOneTimeAddressOpensIt) {
    const auto target = invitation();
    const auto opened = browse(target, "", "none");
    EXPECT_EQ(opened.status, 303U);
    EXPECT_EQ(value_of(opened, "Location"), "/");
    EXPECT_THAT(value_of(opened, "Set-Cookie"), testing::EndsWith("; Path=/; HttpOnly; SameSite=Strict"));
    EXPECT_EQ(value_of(opened, "Cache-Control"), "no-store");
    const auto cookie = value_of(opened, "Set-Cookie").substr(0, value_of(opened, "Set-Cookie").find(';'));
    const auto page = browse("/", cookie);
    EXPECT_EQ(page.status, 200U);
    EXPECT_EQ(page.content_type, "text/html; charset=utf-8");
    EXPECT_EQ(page.content(), "<!doctype html>page");
    EXPECT_THAT(value_of(page, "Content-Security-Policy"), HasSubstr("default-src 'none'; script-src 'self'"));
    EXPECT_EQ(value_of(page, "X-Content-Type-Options"), "nosniff");
    EXPECT_EQ(browse("/app.js", cookie).content_type, "text/javascript; charset=utf-8");
    EXPECT_EQ(browse("/v1/status", cookie).status, 200U);
    EXPECT_EQ(browse("/v1/windows/latest/profile", "a=1; " + cookie).status, 200U);
    EXPECT_EQ(browse("/v1/captures", cookie).status, 403U);
    EXPECT_EQ(open(invitation(Door::kRead)).empty(), false);
}

TEST_F(PageTest, AnAddressWorksOnce) {
    const auto target = invitation();
    EXPECT_FALSE(open(target).empty());
    const auto again = browse(target, "", "none");
    EXPECT_EQ(again.status, 401U);
    EXPECT_THAT(std::string(again.content()), HasSubstr("was opened already"));
    EXPECT_TRUE(value_of(again, "Set-Cookie").empty());
    for (const auto* guess : {"/open", "/open?key=", "/open?key=0000", "/open?key=a&key=b", "/open?token=x"}) {
        EXPECT_EQ(browse(guess, "", "none").status, 401U) << guess;
    }
}

TEST_F(PageTest, OtherSitesCanNeitherUseNorSpendAnAddress) {
    const auto target = invitation();
    EXPECT_EQ(browse(target, "", "cross-site").status, 403U);
    EXPECT_EQ(browse(target, "", "same-site").status, 403U);
    EXPECT_EQ(browse(target, "", "none", "evil.example:9909").status, 421U);
    EXPECT_EQ(get(target, Door::kTcp, kLocal, "HEAD").status, 405U);
    EXPECT_FALSE(open(target).empty());
}

TEST_F(PageTest, WithoutASessionNothingIsShown) {
    const auto locked = browse("/");
    EXPECT_EQ(locked.status, 401U);
    EXPECT_THAT(std::string(locked.content()), HasSubstr("perfvigil web"));
    EXPECT_EQ(browse("/app.js").status, 403U);
    EXPECT_EQ(browse("/v1/live").status, 403U);
    EXPECT_EQ(browse("/nothing").status, 404U);
    EXPECT_EQ(browse("/metrics").status, 200U);
    for (const auto door : {Door::kRead, Door::kControl}) {
        EXPECT_EQ(get("/v1/web", door).status, 405U) << "an address is made by POST only";
    }
    EXPECT_EQ(get("/v1/web", Door::kTcp).status, 403U);
    EXPECT_EQ(get("/v1/web", Door::kTcp, kLocal, "POST").status, 403U);
    const auto cookie = open(invitation());
    EXPECT_EQ(browse("/", cookie + "x").status, 401U);
    EXPECT_EQ(browse("/", cookie, "cross-site").status, 403U);
    EXPECT_EQ(browse("/", cookie, "same-origin", "evil.example").status, 421U);
    EXPECT_EQ(get("/v1/web", Door::kTcp, {{"Host", "localhost"}, {"Cookie", cookie}}, "POST").status, 405U);
}

TEST_F(PageTest, APathChoosesAmongThePagesFilesOnly) {
    const auto cookie = open(invitation());
    for (const auto* path : {"/secret.yaml", "/../secret.yaml", "/%2e%2e/etc/passwd", "//app.js", "/./app.js",
                             "/app.js/", "/app.js%00", "/etc/passwd", "/index.html/../app.js"}) {
        EXPECT_EQ(browse(path, cookie).status, 404U) << path;
    }
    EXPECT_EQ(browse("/index.html?x=1", cookie).status, 200U);
}

TEST_F(PageTest, AFileIsSentAgainOnlyWhenItChanged) {
    const auto first = get("/app.js");
    const auto etag = value_of(first, "ETag");
    EXPECT_FALSE(etag.empty());
    EXPECT_EQ(value_of(first, "Cache-Control"), "no-cache");
    const auto second = get("/app.js", Door::kControl, {{"Host", "localhost"}, {"If-None-Match", etag}});
    EXPECT_EQ(second.status, 304U);
    EXPECT_TRUE(second.content().empty());
    EXPECT_EQ(get("/app.js", Door::kControl, {{"Host", "h"}, {"If-None-Match", "\"x\""}}).status, 200U);
}

// ssh -L 9909:/run/perfvigil/read.sock
TEST_F(PageTest, ASocketThatABrowserReachesIsNoWayAround) {
    EXPECT_EQ(browse("/", "", "same-origin", "localhost:9909", Door::kRead).status, 200U);
    EXPECT_EQ(browse("/v1/status", "", "same-origin", "localhost:9909", Door::kRead).status, 200U);
    EXPECT_EQ(browse("/v1/status", "", "cross-site", "localhost:9909", Door::kRead).status, 403U);
    EXPECT_EQ(browse("/v1/status", "", "same-origin", "evil.example:9909", Door::kControl).status, 421U);
}

TEST_F(PageTest, SaysWhyThereIsNone) {
    rules.origin.clear();
    EXPECT_EQ(get("/v1/web", Door::kControl, kLocal, "POST").status, 503U);
    source.web_page = Page("/nonexistent");
    EXPECT_EQ(get("/v1/web", Door::kControl, kLocal, "POST").status, 501U);
    EXPECT_EQ(get("/v1/web?x=1", Door::kControl, kLocal, "POST").status, 400U);
    EXPECT_THAT(std::string(get("/").content()), HasSubstr("built without npm"));
}

struct HostCase {
    const char* host;
    unsigned status;
};
class HostTest : public ApiTest, public testing::WithParamInterface<HostCase> {};

TEST_P(HostTest, OnlyNamesOfThisHostAreAnswered) {
    rules.allowed_hosts = {"metrics.example"};
    EXPECT_EQ(get("/metrics", Door::kTcp, {{"host", GetParam().host}}).status, GetParam().status);
    // The kernel keeps strangers from the control socket; what a client calls the host there does not matter.
    EXPECT_EQ(get("/metrics", Door::kControl, {{"host", GetParam().host}}).status, 200U);
}

INSTANTIATE_TEST_SUITE_P(Cases, HostTest,
                         testing::Values(HostCase{"localhost", 200}, HostCase{"LocalHost:1", 200},
                                         HostCase{"127.0.0.1:9909", 200}, HostCase{"127.9.9.9", 200},
                                         HostCase{"[::1]:9909", 200}, HostCase{"[::1]", 200},
                                         HostCase{"metrics.example", 200}, HostCase{"METRICS.example:80", 200},
                                         HostCase{"evil.example", 421}, HostCase{"10.0.0.1", 421},
                                         HostCase{"localhost.evil.example", 421}, HostCase{"[::2]", 421},
                                         HostCase{"[::1", 421}, HostCase{"[::1]evil", 421}, HostCase{"[::1]:x", 421},
                                         HostCase{"localhost:", 421}, HostCase{"localhost:1:2", 421},
                                         HostCase{"localhost:99999", 421}, HostCase{"", 421}, HostCase{"::1", 421}));

TEST_F(ApiTest, HostMustBeSentOnce) {
    EXPECT_EQ(get("/metrics", Door::kTcp, {}).status, 400U);
    EXPECT_EQ(get("/metrics", Door::kTcp, {{"Host", "localhost"}, {"HOST", "evil.example"}}).status, 421U);
}

TEST_F(ApiTest, PagesOfOtherSitesAreRefused) {
    const auto with = [&](std::string_view site) {
        return get("/metrics", Door::kTcp, {{"Host", "localhost"}, {"Sec-Fetch-Site", site}}).status;
    };
    EXPECT_EQ(with("cross-site"), 403U);
    EXPECT_EQ(with("same-site"), 403U);
    EXPECT_EQ(with("same-origin"), 200U);
    EXPECT_EQ(with("none"), 200U);
    for (const auto& [name, value] : get("/metrics", Door::kTcp).headers) {
        EXPECT_FALSE(name.starts_with("Access-Control")) << name << value;
    }
}

TEST_F(ApiTest, TokenIsAskedForOverTcpOnly) {
    rules.token = "s3cret";
    const auto with = [&](std::string_view authorization) {
        return get("/metrics", Door::kTcp, {{"Host", "localhost"}, {"Authorization", authorization}}).status;
    };
    EXPECT_EQ(with("Bearer s3cret"), 200U);
    EXPECT_EQ(with("bearer s3cret"), 200U);
    for (const auto* wrong :
         {"", "Bearer", "Bearer ", "Bearer s3cre", "Bearer s3crets", "Bearer S3CRET", "Basic s3cret", "s3cret"}) {
        EXPECT_EQ(with(wrong), 401U) << wrong;
    }
    EXPECT_EQ(get("/metrics", Door::kTcp).status, 401U);
    EXPECT_EQ(get("/metrics", Door::kControl).status, 200U);
}

TEST_F(ApiTest, OnlyReadingIsPossible) {
    for (const auto* method : {"POST", "PUT", "DELETE", "OPTIONS", "CONNECT", "get", ""}) {
        const auto response = get("/metrics", Door::kTcp, kLocal, method);
        EXPECT_EQ(response.status, 405U) << method;
        EXPECT_EQ(response.headers.front(), std::pair(std::string_view("Allow"), std::string("GET, HEAD")));
    }
    EXPECT_EQ(get("/metrics", Door::kTcp, kLocal, "HEAD").status, 200U);
}

TEST_F(ApiTest, UnknownPathsAre404) {
    for (const auto* target : {"/", "", "/metric", "/metrics/", "*", "http://localhost/metrics", "//metrics", "/v1"}) {
        EXPECT_EQ(get(target).status, 404U) << target;
    }
    for (const auto* target : {"/v1/", "/v1/windows/latest", "/v1/windows/", "/v1/windows/latest/", "/v1/status/x",
                               "/v1/windows/latest/report/x", "/v1/windows/../../etc/passwd/profile",
                               "/v1/windows/20260131T120509Z/report"}) {
        const auto response = get(target);
        EXPECT_EQ(response.status, 404U) << target;
        EXPECT_TRUE(boost::json::parse(response.content()).as_object().contains("error")) << target;
    }
}

TEST_F(ApiTest, WindowsNewestFirst) {
    const auto all = get_json("/v1/windows");
    EXPECT_EQ(all.at("total").to_number<int>(), 3);
    const auto& list = all.at("windows").as_array();
    ASSERT_EQ(list.size(), 3U);
    const auto& newest = list[0].as_object();
    EXPECT_EQ(newest.at("id").as_string(), "20260131T120503Z");
    EXPECT_EQ(newest.at("end").as_string(), "1970-01-01T00:16:43.000Z");
    EXPECT_DOUBLE_EQ(newest.at("duration_seconds").to_number<double>(), 60);
    EXPECT_EQ(newest.at("samples").to_number<int>(), 10);
    EXPECT_EQ(newest.at("lost").to_number<int>(), 2);
    EXPECT_TRUE(newest.at("stored").as_bool());
    EXPECT_EQ(get_json("/v1/windows?limit=1").at("windows").as_array().size(), 1U);
    for (const auto* bad :
         {"?limit=x", "?limit=-1", "?limit=99999999999999999999", "?limit=", "?size=1", "?a&limit=1"}) {
        EXPECT_EQ(get(std::string("/v1/windows") + bad).status, 400U) << bad;
    }
}

TEST_F(ApiTest, ReportsInBothForms) {
    const auto text = get("/v1/windows/latest/report");
    EXPECT_EQ(text.status, 200U);
    EXPECT_EQ(text.content_type, "text/plain; charset=utf-8");
    EXPECT_THAT(std::string(text.content()), HasSubstr("spin_here"));
    const auto json = get_json("/v1/windows/20260131T120502Z/report?format=json");
    EXPECT_EQ(json.at("id").as_string(), "20260131T120502Z");
    EXPECT_EQ(json.at("events").as_array().at(0).at("functions").as_array().at(0).at("symbol").as_string(),
              "spin_here");
    EXPECT_EQ(get("/v1/windows/latest/report?format=text&top=3&width=80&idle=true").status, 200U);
    for (const auto* bad : {"format=xml", "top=x", "width=99999", "idle=maybe", "nope=1"}) {
        const auto response = get(std::string("/v1/windows/latest/report?") + bad);
        EXPECT_EQ(response.status, 400U) << bad;
        EXPECT_EQ(response.content_type, "application/json");
    }
}

TEST_F(ApiTest, ProfileIsWhatTheStoreHolds) {
    const auto response = get("/v1/windows/20260131T120501Z/profile");
    EXPECT_EQ(response.content_type, "application/vnd.perfvigil.profile");
    const auto profile = analyzer::decode_profile(std::as_bytes(std::span(response.content())));
    ASSERT_TRUE(profile);
    EXPECT_EQ(profile->id, "20260131T120501Z");
    EXPECT_EQ(get("/v1/windows/20260131T120501Z/profile?x=1").status, 400U);
}

TEST_F(ApiTest, WhatTheStoreCannotGiveIsSaid) {
    source.profiles.erase("20260131T120501Z");
    EXPECT_EQ(get("/v1/windows/20260131T120501Z/report").status, 404U);
    source.profiles["20260131T120502Z"] = {std::byte{1}, std::byte{2}};
    const auto damaged = get("/v1/windows/20260131T120502Z/report");
    EXPECT_EQ(damaged.status, 500U);
    EXPECT_THAT(std::string(damaged.content()), HasSubstr("the stored profile cannot be read"));
    source.windows = std::make_shared<const Catalog>();
    EXPECT_THAT(std::string(get("/v1/windows/latest/report").content()), HasSubstr("no window is complete yet"));
    EXPECT_EQ(get("/v1/windows/latest/report").status, 404U);
}

TEST_F(ApiTest, ForeignBytesComeBackEscaped) {
    const auto response = get("/v1/windows?\x1b[2J\xff=1");
    EXPECT_EQ(response.status, 400U);
    EXPECT_EQ(std::string(response.content()).find_first_of("\x1b\xff"), std::string::npos);
}

TEST(WindowIdTest, HasOneForm) {
    EXPECT_TRUE(is_window_id("20260131T120500Z"));
    EXPECT_TRUE(is_window_id("20260131T120500Z-2"));
    EXPECT_TRUE(is_window_id("20260131T120500Z-12345"));
    for (const auto* bad :
         {"", "latest", "20260131T120500", "20260131t120500Z", "20260131T120500Z-", "20260131T12050xZ",
          "20260131T120500Z-123456", "20260131T120500Z-x", "20260131T120500Z/..", "../../etc/passwd"}) {
        EXPECT_FALSE(is_window_id(bad)) << bad;
    }
}

}  // namespace
}  // namespace perfvigil::daemon::api
