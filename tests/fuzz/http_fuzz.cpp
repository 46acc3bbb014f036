// SPDX-License-Identifier: GPL-2.0-or-later
// Any bytes as what a caller sends: through the HTTP parser with its limits, the router on both doors, and back into a
// message. The answer must be one that HTTP allows, and never echo bytes that a terminal or a log would obey.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "analyzer/profile/codec.hpp"
#include "daemon/http_message.hpp"
#include "tests/support/daemon_fake_source.hpp"
#include "tests/support/daemon_profile.hpp"

namespace {

using namespace perfvigil;
using namespace perfvigil::daemon;

test::FakeSource& source() {
    static test::FakeSource* made = [] {
        auto* fresh = new test::FakeSource;
        const auto profile = test::small_profile("20260131T120500Z", 1000);
        auto bytes = analyzer::encode_profile(profile);
        const auto size = bytes.size();
        fresh->add(describe(profile, size), std::move(bytes));
        return fresh;
    }();
    return *made;
}

void check(const api::Response& response) {
    if (response.later) return;  // another thread works on it
    const bool known = response.status >= 200 && response.status < 600 && response.status != 204;
    if (!known || response.content_type.empty()) std::abort();
    if (response.status == 200) return;
    for (const char c : response.content()) {
        if (static_cast<unsigned char>(c) < 0x20 && c != '\n') std::abort();
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    RequestParser parser;
    limit(parser);
    parser.eager(true);
    boost::system::error_code error;
    std::size_t at = 0;
    // In small pieces, as a slow caller would.
    while (at < size && !error && !parser.is_done()) {
        const auto piece = std::min<std::size_t>(size - at, 1 + at % 97);
        const auto used = parser.put(boost::asio::buffer(data, at + piece), error);
        if (error == http::error::need_more) error = {};
        if (used == at + piece || parser.is_done() || error) break;
        at += piece;
    }
    if (error) {
        if (const auto refusal = answer_to(error)) check(*refusal);
        return 0;
    }
    if (!parser.is_done()) return 0;
    const api::Rules rules{{"allowed.example"}, size % 2 == 0 ? "token" : ""};
    for (const auto door : {api::Door::kTcp, api::Door::kControl}) {
        const RequestView view(parser.get(), door);
        const auto response = api::respond(view.request(), rules, source());
        check(response);
        if (response.status == 200 && door == api::Door::kTcp && view.request().target.starts_with("/v1")) std::abort();
        (void)to_message(response, parser.get().version(), parser.keep_alive(), size % 3 == 0);
    }
    return 0;
}
