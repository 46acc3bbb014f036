// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/bundle/evidence_codec.hpp"

#include <gtest/gtest.h>
#include <zstd.h>

#include <functional>
#include <protozero/pbf_writer.hpp>
#include <string>

#include "tests/support/random_evidence.hpp"

namespace perfvigil::analyzer {
namespace {

TEST(EvidenceCodec, WhatIsWrittenComesBackEqual) {
    EXPECT_EQ(decode_evidence(encode_evidence(Evidence{})), Evidence{});
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        const Evidence evidence = test::random_evidence(seed);
        const auto again = decode_evidence(encode_evidence(evidence));
        ASSERT_TRUE(again) << again.error().message;
        EXPECT_EQ(*again, evidence) << seed;
    }
}

TEST(EvidenceCodec, AFileCutAnywhereIsRefused) {
    const auto bytes = encode_evidence(test::random_evidence(7));
    for (std::size_t size = 0; size < bytes.size(); ++size) {
        EXPECT_FALSE(decode_evidence(Bytes(bytes).first(size))) << size;
    }
}

// One sound function of three bytes.
EvidenceCode& only_code(Evidence& evidence) {
    evidence.codes.clear();
    EvidenceCode& code = evidence.codes.emplace_back();
    code.code = "xyz";
    return code;
}

TEST(EvidenceCodec, NumbersOfNothingAreRefused) {
    const std::vector<std::function<void(Evidence&)>> lies{
        [](Evidence& e) { e.symbols.at(0).name = static_cast<std::uint32_t>(e.strings.size()); },
        [](Evidence& e) { e.symbols.at(0).dso = static_cast<std::uint32_t>(e.strings.size()); },
        [](Evidence& e) { e.symbols.at(0).reason = static_cast<UnknownReason>(200); },
        [](Evidence& e) { e.chains = {{{.function = static_cast<std::uint32_t>(e.strings.size())}}}; },
        [](Evidence& e) { e.chains = {{{.file = static_cast<std::uint32_t>(e.strings.size())}}}; },
        [](Evidence& e) { e.chains.push_back({}); },
        [](Evidence& e) { e.dsos.at(0).path = static_cast<std::uint32_t>(e.strings.size()); },
        [](Evidence& e) { e.dsos.at(0).package = static_cast<std::uint32_t>(e.strings.size() + 1); },
        [](Evidence& e) { e.dsos.at(0).package_version = static_cast<std::uint32_t>(e.strings.size() + 1); },
        [](Evidence& e) { e.dsos.at(0).kind = static_cast<collector::DsoKind>(77); },
        [](Evidence& e) { e.dsos.at(0).addresses = {{.symbol = static_cast<std::uint32_t>(e.symbols.size())}}; },
        [](Evidence& e) { e.dsos.at(0).addresses = {{.chain = static_cast<std::uint32_t>(e.chains.size() + 1)}}; },
        [](Evidence& e) { e.dsos.at(0).addresses = {{.offset = 5}, {.offset = 5}}; },
        [](Evidence& e) { e.dsos.at(0).addresses = {{.offset = 5}, {.offset = 4}}; },
        [](Evidence& e) { only_code(e).dso = static_cast<std::uint32_t>(e.dsos.size()); },
        [](Evidence& e) { only_code(e).machine = 65536; },
        [](Evidence& e) { only_code(e).lines = {{.offset = 3}}; },
        [](Evidence& e) { only_code(e).lines = {{.offset = 1}, {.offset = 1}}; },
        [](Evidence& e) { only_code(e).lines = {{.file = static_cast<std::uint32_t>(e.strings.size())}}; },
        [](Evidence& e) { e.kernel_text = {{.start = ~0ULL, .size = 1}}; },
        [](Evidence& e) { e.kernel_text = {{.text_class = 256}}; },
        [](Evidence& e) { e.unwound = {{.stack = static_cast<std::uint32_t>(e.stacks.size())}}; },
        [](Evidence& e) { e.stacks = {{1}}, e.unwound = {{.flags = 256}}; },
        [](Evidence& e) { e.stacks = {{1}}, e.unwound = {{.sample = 5}, {.sample = 5}}; },
        [](Evidence& e) { e.stacks = {{1}}, e.unwound = {{.sample = 5}, {.sample = 4}}; },
        [](Evidence& e) { e.placements = {{.dso = static_cast<std::uint32_t>(e.dsos.size()), .code = {}}}; },
        [](Evidence& e) { e.placements = {{.dso = 0, .code = {.start = ~0ULL, .size = 1}}}; },
        [](Evidence& e) { e.made = WallTime(Nanoseconds::max()); },
    };
    for (std::size_t i = 0; i < lies.size(); ++i) {
        Evidence evidence = test::random_evidence(3);
        lies[i](evidence);
        EXPECT_FALSE(decode_evidence(encode_evidence(evidence))) << "lie " << i;
    }
}

// As bundles were written before they kept packages.
TEST(EvidenceCodec, ABinaryWithoutAPackageHasNone) {
    std::string plain;
    protozero::pbf_writer writer(plain);
    writer.add_uint32(1, 1);
    writer.add_string(4, "/usr/sbin/sshd");
    protozero::pbf_writer(writer, 14).add_uint32(2, 0);
    std::vector<std::byte> frame(ZSTD_compressBound(plain.size()));
    frame.resize(ZSTD_compress(frame.data(), frame.size(), plain.data(), plain.size(), 1));
    const auto decoded = decode_evidence(frame);
    ASSERT_TRUE(decoded) << decoded.error().message;
    ASSERT_EQ(decoded->dsos.size(), 1U);
    EXPECT_EQ(decoded->dsos[0].package, 0U);
    EXPECT_EQ(decoded->dsos[0].package_version, 0U);
    EXPECT_TRUE(decoded->dsos[0].file_build_id.empty());
}

TEST(EvidenceCodec, ALaterVersionIsNamed) {
    std::string plain("\x08\x63", 2);  // field 1: 99
    std::vector<std::byte> frame(ZSTD_compressBound(plain.size()));
    frame.resize(ZSTD_compress(frame.data(), frame.size(), plain.data(), plain.size(), 1));
    const auto decoded = decode_evidence(frame);
    ASSERT_FALSE(decoded);
    EXPECT_NE(decoded.error().message.find("version 99"), std::string::npos) << decoded.error().message;
}

TEST(EvidenceCodec, SmallInputThatUnpacksToMuchIsRefused) {
    const std::string plain(64U << 20, '\0');
    std::vector<std::byte> frame(ZSTD_compressBound(plain.size()));
    frame.resize(ZSTD_compress(frame.data(), frame.size(), plain.data(), plain.size(), 1));
    EXPECT_FALSE(decode_evidence(frame));
}

}  // namespace
}  // namespace perfvigil::analyzer
