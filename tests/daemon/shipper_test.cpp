// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/shipper.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/core.h>

#include <filesystem>
#include <mutex>
#include <thread>

#include "analyzer/profile/codec.hpp"
#include "base/time.hpp"
#include "daemon/store_files.hpp"
#include "tests/support/daemon_files.hpp"
#include "tests/support/daemon_profile.hpp"
#include "tests/support/scripted_collector.hpp"
#include "tests/support/temp_folder.hpp"

namespace perfvigil::daemon {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using config::ShipFormat;
using test::ScriptedCollector;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

constexpr ShipLimits kShort{.connect = std::chrono::seconds(2), .exchange = std::chrono::milliseconds(300)};

class ShipperTest : public testing::Test {
protected:
    ShipperTest() { fs::create_directories(store); }

    static std::string id_of(int minute) { return fmt::format("20260131T12{:02}00Z", minute); }
    // A window on the disk.
    std::string complete(int minute) {
        const auto profile = test::small_profile(id_of(minute), 60 * minute + 60);
        const auto bytes = analyzer::encode_profile(profile);
        EXPECT_TRUE(write_profile(store, profile.id, bytes));
        const std::lock_guard lock(mutex);
        auto next = *catalog;
        next.push_back(std::make_shared<Window>(Window{describe(profile, bytes.size()), nullptr}));
        catalog = std::make_shared<const Catalog>(std::move(next));
        return profile.id;
    }
    std::unique_ptr<Shipper> shipper(const std::string& to, ShipFormat format = ShipFormat::kOtlp,
                                     std::uint32_t waiting = 10) {
        const config::ShipOptions options{.to = to, .format = format, .waiting = waiting};
        return std::make_unique<Shipper>(Shipper::Parts{.options = options,
                                                        .store_directory = store,
                                                        .catalog =
                                                            [this] {
                                                                const std::lock_guard lock(mutex);
                                                                return catalog;
                                                            },
                                                        .target = make_ship_target(options, 0, kShort),
                                                        .clock = system_clock(),
                                                        .report =
                                                            [this](const std::optional<Error>& error) {
                                                                const std::lock_guard lock(mutex);
                                                                said.push_back(error ? error->message : "well");
                                                            }});
    }
    std::string url() const { return fmt::format("http://127.0.0.1:{}/v1development/profiles", collector.port()); }
    template <class Holds>
    static bool wait(Holds holds) {
        const auto until = std::chrono::steady_clock::now() + 30s;
        while (!holds()) {
            if (std::chrono::steady_clock::now() > until) return false;
            std::this_thread::sleep_for(5ms);
        }
        return true;
    }
    std::vector<std::string> reports() {
        const std::lock_guard lock(mutex);
        return said;
    }

    test::TempFolder folder;
    std::string store = folder / "store";
    ScriptedCollector collector;
    std::mutex mutex;
    std::shared_ptr<const Catalog> catalog = std::make_shared<const Catalog>();
    std::vector<std::string> said;
};

TEST_F(ShipperTest, PostsWhatTheCollectorTakes) {
    for (const auto format : {ShipFormat::kOtlp, ShipFormat::kPprof}) {
        const auto ship = shipper(url(), format);
        const auto before = collector.posts().size();
        ship->offer(complete(format == ShipFormat::kOtlp ? 1 : 2));
        ASSERT_TRUE(wait([&] { return ship->counters().sent == 1; }));
        const auto post = collector.posts().at(before);
        EXPECT_THAT(post.head, HasSubstr("POST /v1development/profiles HTTP/1.1\r\n"));
        EXPECT_THAT(post.head, HasSubstr("X-Perfvigil-Window: 20260131T120"));
        EXPECT_THAT(post.head, HasSubstr(format == ShipFormat::kOtlp ? "application/x-protobuf" : "octet-stream"));
        const auto id = id_of(format == ShipFormat::kOtlp ? 1 : 2);
        const auto profile = analyzer::decode_profile(read_profile(store, id).value()).value();
        EXPECT_EQ(post.body, shipped_bytes(profile, format));
        EXPECT_FALSE(post.body.empty());
    }
    EXPECT_TRUE(reports().empty());
}

TEST_F(ShipperTest, WritesFilesIntoAFolder) {
    const auto to = folder / "out";
    const auto ship = shipper(to, ShipFormat::kPprof);
    ship->offer(complete(1));
    ASSERT_TRUE(wait([&] { return ship->counters().sent == 1; }));
    const auto profile = analyzer::decode_profile(read_profile(store, id_of(1)).value()).value();
    EXPECT_EQ(test::slurp(to + "/" + id_of(1) + ".pb.gz"), shipped_bytes(profile, ShipFormat::kPprof));
    EXPECT_EQ(std::distance(fs::directory_iterator(to), fs::directory_iterator()), 1);
}

TEST_F(ShipperTest, WhatFailsIsTriedAgainInItsOrder) {
    for (const auto how :
         {503U, 429U, ScriptedCollector::kHang, ScriptedCollector::kClose, ScriptedCollector::kNoise}) {
        catalog = std::make_shared<const Catalog>();
        said.clear();
        collector.behave(how);
        const auto before = collector.posts().size();
        const auto ship = shipper(url());
        ship->offer(complete(1));
        ship->offer(complete(2));
        ASSERT_TRUE(wait([&] { return ship->counters().retries >= 1; })) << how;
        EXPECT_EQ(ship->counters().waiting, 2U);
        EXPECT_THAT(reports(), ElementsAre(HasSubstr(url()))) << how;
        collector.behave(200);
        ASSERT_TRUE(wait([&] { return ship->counters().sent == 2; })) << how;
        const auto posts = collector.posts();
        ASSERT_THAT(posts, SizeIs(before + 2));
        EXPECT_THAT(posts[before].head, HasSubstr(id_of(1)));
        EXPECT_THAT(posts[before + 1].head, HasSubstr(id_of(2)));
        EXPECT_THAT(reports(), ElementsAre(testing::_, "well")) << how;
    }
}

TEST_F(ShipperTest, WhatIsRefusedForGoodHoldsNothingUp) {
    collector.behave(400);
    const auto ship = shipper(url());
    ship->offer(complete(1));
    ASSERT_TRUE(wait([&] { return ship->counters().refused == 1; }));
    EXPECT_THAT(reports(), ElementsAre(HasSubstr("answered 400")));
    collector.behave(200);
    ship->offer(complete(2));
    ASSERT_TRUE(wait([&] { return ship->counters().sent == 1; }));
    EXPECT_THAT(collector.posts().back().head, HasSubstr(id_of(2)));
}

TEST_F(ShipperTest, NobodyWaitsForACollectorThatHangs) {
    collector.behave(ScriptedCollector::kHang);
    const auto begun = std::chrono::steady_clock::now();
    {
        const config::ShipOptions options{.to = url(), .waiting = 3};
        Shipper ship({.options = options,
                      .store_directory = store,
                      .catalog = [this] { return catalog; },
                      .target = make_ship_target(options, 0, {.exchange = std::chrono::hours(1)}),
                      .clock = system_clock(),
                      .report = [](const auto&) {}});
        ship.offer(complete(1));
        ASSERT_TRUE(wait([&] { return collector.connections() == 1; }));
        for (int i = 2; i < 30; ++i) ship.offer(id_of(i));
    }
    EXPECT_LT(std::chrono::steady_clock::now() - begun, 10s) << "its end waits for nobody either";
}

TEST_F(ShipperTest, OnlySoManyWait) {
    collector.behave(500);
    const auto ship = shipper(url(), ShipFormat::kOtlp, 3);
    for (int i = 1; i <= 8; ++i) {
        ship->offer(complete(i));
        ASSERT_TRUE(wait([&] {
            return ship->counters().waiting + ship->counters().dropped == static_cast<unsigned>(i);
        })) << i;
    }
    EXPECT_EQ(ship->counters().waiting, 3U);
    EXPECT_EQ(ship->counters().dropped, 5U);
    collector.behave(200);
    ASSERT_TRUE(wait([&] { return ship->counters().sent == 3; }));
    EXPECT_THAT(collector.posts().front().head, HasSubstr(id_of(6)));
}

TEST_F(ShipperTest, WhatTheStoreNoLongerHasIsGivenUp) {
    const auto ship = shipper(url());
    const auto id = complete(1);
    ASSERT_TRUE(remove_profile(store, id));
    ship->offer(id);
    ship->offer(complete(2));
    ASSERT_TRUE(wait([&] { return ship->counters().sent == 1; }));
    EXPECT_EQ(ship->counters().dropped, 1U);
}

TEST_F(ShipperTest, GoesOnBehindTheLastOneAfterARestart) {
    {
        const auto ship = shipper(url());
        ship->offer(complete(1));
        ASSERT_TRUE(wait([&] { return ship->counters().sent == 1; }));
    }
    complete(2);
    complete(3);
    const auto ship = shipper(url());
    ship->offer(complete(4));
    ASSERT_TRUE(wait([&] { return ship->counters().sent == 3; }));
    std::vector<std::string> ids;
    for (const auto& post : collector.posts()) {
        const auto at = post.head.find("X-Perfvigil-Window: ") + 20;
        ids.push_back(post.head.substr(at, post.head.find('\r', at) - at));
    }
    EXPECT_THAT(ids, ElementsAre(id_of(1), id_of(2), id_of(3), id_of(4)));
}

TEST_F(ShipperTest, WithoutAMarkItBeginsNow) {
    complete(1);
    complete(2);
    const auto ship = shipper(url());
    ship->offer(complete(3));
    ASSERT_TRUE(wait([&] { return ship->counters().sent == 1; }));
    std::this_thread::sleep_for(50ms);
    EXPECT_THAT(collector.posts(), SizeIs(1));
}

}  // namespace
}  // namespace perfvigil::daemon
