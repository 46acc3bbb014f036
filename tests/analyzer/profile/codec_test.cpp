// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/profile/codec.hpp"

#include <gtest/gtest.h>
#include <zstd.h>

#include <protozero/pbf_writer.hpp>
#include <random>

#include "tests/support/random_profile.hpp"

namespace perfvigil::analyzer {
namespace {

std::vector<std::byte> compressed(const std::string& plain) {
    std::vector<std::byte> out(ZSTD_compressBound(plain.size()));
    out.resize(ZSTD_compress(out.data(), out.size(), plain.data(), plain.size(), 1));
    return out;
}

std::string decompressed(const std::vector<std::byte>& bytes) {
    std::string out(ZSTD_getFrameContentSize(bytes.data(), bytes.size()), '\0');
    EXPECT_EQ(ZSTD_decompress(out.data(), out.size(), bytes.data(), bytes.size()), out.size());
    return out;
}

Error error_of(const std::string& plain) {
    auto read = decode_profile(compressed(plain));
    return read ? Error{.message = "no error"} : read.error();
}

// A message of single fields: what a test writes beside the version.
template <class Write>
std::string message(Write&& write) {
    std::string plain;
    protozero::pbf_writer writer(plain);
    writer.add_uint32(1, kProfileVersion);
    write(writer);
    return plain;
}

Profile whole_profile() {
    std::mt19937_64 random(5);
    Profile profile;
    while (profile.samples.empty() || profile.moments.empty()) profile = test::random_profile(random);
    return profile;
}

TEST(ProfileCodec, AnEmptyProfile) {
    const auto read = decode_profile(encode_profile(Profile{}));
    ASSERT_TRUE(read);
    EXPECT_EQ(*read, Profile{});
}

TEST(ProfileCodec, ALaterVersionIsRefused) {
    std::string plain;
    protozero::pbf_writer(plain).add_uint32(1, kProfileVersion + 1);
    const auto read = decode_profile(compressed(plain));
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().code, ErrorCode::kUnsupported);
    EXPECT_NE(read.error().message.find("version 2"), std::string::npos);
}

TEST(ProfileCodec, WithoutAVersionItIsNoProfile) { EXPECT_EQ(error_of("").code, ErrorCode::kInvalid); }

TEST(ProfileCodec, UnknownFieldsArePassedOver) {
    std::string plain = decompressed(encode_profile(whole_profile()));
    protozero::pbf_writer writer(plain);
    writer.add_string(900, "of a later writer");
    writer.add_fixed32(901, 7);
    writer.add_uint64(902, 7);
    const auto read = decode_profile(compressed(plain));
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(*read, whole_profile());
}

TEST(ProfileCodec, WhatIsNotZstdOrEndsEarly) {
    EXPECT_FALSE(decode_profile({}));
    const std::string text = "this is no profile at all";
    EXPECT_FALSE(decode_profile(std::as_bytes(std::span(text))));
    const auto bytes = encode_profile(whole_profile());
    for (std::size_t size = 0; size < bytes.size(); ++size) {
        EXPECT_FALSE(decode_profile(Bytes(bytes).first(size))) << size;
    }
}

TEST(ProfileCodec, DamageIsNamed) {
    const auto packed = [](std::initializer_list<std::uint64_t> values) { return std::vector<std::uint64_t>(values); };
    const auto column = [&](protozero::pbf_writer& w, std::uint32_t tag, std::initializer_list<std::uint64_t> values) {
        const auto list = packed(values);
        w.add_packed_uint64(tag, list.begin(), list.end());
    };
    const auto event = [](protozero::pbf_writer& w) { w.add_message(7, std::string()); };
    const auto function = [&](protozero::pbf_writer& w) {
        w.add_string(8, "f");
        w.add_string(9, "dso");
        column(w, 10, {0});
        column(w, 11, {0});
    };
    struct Case {
        const char* words;
        std::string plain;
    };
    const Case cases[] = {
        {"another type", message([](auto& w) { w.add_uint64(2, 5); })},
        {"another type", message([](auto& w) { w.add_string(28, "true"); })},
        {"another type", message([](auto& w) { w.add_uint64(7, 5); })},
        {"out of range", message([](auto& w) { w.add_sint64(3, std::int64_t{1} << 62); })},
        {"out of range", message([&](auto& w) { column(w, 14, {std::uint64_t{1} << 40}); })},
        {"not finite", message([](auto& w) {
             std::string cpu;
             protozero::pbf_writer(cpu).add_double(5, std::numeric_limits<double>::infinity());
             w.add_message(22, cpu);
         })},
        {"unknown choice", message([](auto& w) {
             std::string bad;
             protozero::pbf_writer(bad).add_uint32(2, 9);
             w.add_message(7, bad);
         })},
        {"different lengths", message([](auto& w) { w.add_string(8, "no dso"); })},
        {"no binary", message([&](auto& w) {
             w.add_string(8, "f");
             column(w, 10, {1});
             column(w, 11, {0});
         })},
        {"unknown reason", message([&](auto& w) {
             w.add_string(8, "f");
             w.add_string(9, "dso");
             column(w, 10, {0});
             column(w, 11, {200});
         })},
        {"deeper than its functions", message([&](auto& w) {
             function(w);
             column(w, 12, {2});
             column(w, 13, {0});
             column(w, 14, {0});
         })},
        {"functions of no stack", message([&](auto& w) {
             function(w);
             column(w, 14, {0});
         })},
        {"frame of no function", message([&](auto& w) {
             column(w, 12, {1});
             column(w, 13, {0});
             column(w, 14, {0});
         })},
        {"sample of nothing", message([&](auto& w) {
             event(w);
             for (std::uint32_t tag = 16; tag <= 21; ++tag) column(w, tag, {0});
         })},
        {"different lengths", message([&](auto& w) {
             column(w, 16, {0, 0});
             column(w, 17, {0});
         })},
        {"different lengths", message([&](auto& w) { column(w, 17, {0}); })},
        {"top function of nothing", message([&](auto& w) {
             std::string moment;
             protozero::pbf_writer inner(moment);
             for (std::uint32_t tag = 5; tag <= 8; ++tag) column(inner, tag, {0});
             w.add_message(23, moment);
         })},
        {"totals of no event", message([&](auto& w) {
             std::string moment;
             protozero::pbf_writer(moment).add_message(3, std::string());
             w.add_message(23, moment);
         })},
        {"too many modes", message([&](auto& w) {
             std::string cpu;
             protozero::pbf_writer inner(cpu);
             column(inner, 8, {0, 0, 0, 0, 0});
             w.add_message(22, cpu);
         })},
    };
    for (const auto& [words, plain] : cases) {
        const Error error = error_of(plain);
        EXPECT_EQ(error.code, ErrorCode::kInvalid) << words;
        EXPECT_NE(error.message.find(words), std::string::npos) << error.message << " / " << words;
    }
}

// Little input must not make much output: messages of no bytes, and zstd's best.
TEST(ProfileCodec, BombsAreRefused) {
    std::string plain = message([](auto& w) {
        for (int i = 0; i < 200'000; ++i) w.add_message(22, std::string());
    });
    EXPECT_NE(error_of(plain).message.find("more parts"), std::string::npos);
    const std::string zeros(200U << 20, '\0');
    const auto bomb = decode_profile(compressed(zeros));
    ASSERT_FALSE(bomb);
    EXPECT_EQ(bomb.error().code, ErrorCode::kExhausted);
}

// Every byte changed, some of them in every bit: never a crash, and what is accepted is consistent.
TEST(ProfileCodec, ChangedBytes) {
    const std::string plain = decompressed(encode_profile(whole_profile()));
    std::mt19937_64 random(9);
    std::size_t accepted = 0;
    for (std::size_t i = 0; i < plain.size(); ++i) {
        std::string changed = plain;
        changed[i] = static_cast<char>(random());
        const auto read = decode_profile(compressed(changed));
        if (!read) continue;
        ++accepted;
        for (const auto& sample : read->samples) ASSERT_LT(sample.stack, read->stacks.size());
        EXPECT_EQ(*decode_profile(encode_profile(*read)), *read);
    }
    EXPECT_GT(accepted, plain.size() / 4);
}

}  // namespace
}  // namespace perfvigil::analyzer
