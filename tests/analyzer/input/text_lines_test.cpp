// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/input/text_lines.hpp"

#include <zlib.h>

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "analyzer/input/gzip_source.hpp"
#include "analyzer/input/utf16_source.hpp"

namespace perfvigil::analyzer {
namespace {

// Gives its bytes a few at a time, then perhaps fails.
class Dripping final : public ByteSource {
public:
    Dripping(std::string text, std::size_t step, bool fails = false)
        : text_(std::move(text)), step_(step), fails_(fails) {}
    Result<std::size_t> read(std::span<std::byte> into) override {
        const std::size_t size = std::min({into.size(), step_, text_.size() - at_});
        if (size == 0 && fails_) return fail(ErrorCode::kIo, "the disk is gone");
        std::memcpy(into.data(), text_.data() + at_, size);
        at_ += size;
        return size;
    }

private:
    std::string text_;
    std::size_t step_;
    bool fails_;
    std::size_t at_ = 0;
};

std::vector<std::string> lines_of(ByteSource& source, std::uint64_t* cut = nullptr) {
    TextLines lines(source);
    std::vector<std::string> all;
    std::string_view line;
    while (lines.next(line)) {
        all.emplace_back(line);
        EXPECT_EQ(lines.number(), all.size());
    }
    if (cut != nullptr) *cut = lines.cut_lines();
    return all;
}

using Strings = std::vector<std::string>;

TEST(TextLines, EveryKindOfLineEndInEveryPiece) {
    const std::string text(
        "\xef\xbb\xbf"
        "one\r\n\ntw\0o\nlast",
        18);
    for (std::size_t step = 1; step <= text.size(); ++step) {
        Dripping source(text, step);
        EXPECT_EQ(lines_of(source), (Strings{"one", "", "two", "last"})) << step;
    }
}

TEST(TextLines, NothingAndAlmostNothing) {
    for (const auto& [text, expected] : std::vector<std::pair<std::string, Strings>>{
             {"", {}}, {"\n", {""}}, {"x", {"x"}}, {"\xef\xbb\xbf", {}}, {"\r\n\r\n", {"", ""}}}) {
        Dripping source(text, 1);
        EXPECT_EQ(lines_of(source), expected) << text.size();
    }
}

TEST(TextLines, ALineWithoutEndIsCutAndTheNextIsWhole) {
    const std::size_t size = 3 * TextLines::kMostBytes + 17;
    Dripping source("first\n" + std::string(size, 'x') + "\nnext\n", 70'001);
    std::uint64_t cut = 0;
    const auto lines = lines_of(source, &cut);
    ASSERT_EQ(lines.size(), 3U);
    EXPECT_EQ(lines[0], "first");
    EXPECT_EQ(lines[1], std::string(TextLines::kMostBytes, 'x'));
    EXPECT_EQ(lines[2], "next");
    EXPECT_EQ(cut, 1U);
}

TEST(TextLines, AFailureEndsTheTextAndIsKept) {
    Dripping source("one\ntwo\nthr", 4, true);
    TextLines lines(source);
    std::string_view line;
    Strings read;
    while (lines.next(line)) read.emplace_back(line);
    EXPECT_EQ(read, (Strings{"one", "two", "thr"}));
    ASSERT_TRUE(lines.failure().has_value());
    EXPECT_EQ(lines.failure()->message, "the disk is gone");
}

std::string gzip(const std::string& text) {
    z_stream stream{};
    EXPECT_EQ(deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    std::string packed(compressBound(text.size()) + 64, '\0');
    std::string in = text;
    stream.next_in = reinterpret_cast<Bytef*>(in.data());
    stream.avail_in = static_cast<uInt>(in.size());
    stream.next_out = reinterpret_cast<Bytef*>(packed.data());
    stream.avail_out = static_cast<uInt>(packed.size());
    EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
    packed.resize(stream.total_out);
    deflateEnd(&stream);
    return packed;
}

TEST(GzipSource, MembersOneAfterAnother) {
    const std::string packed = gzip("one\ntw") + gzip("o\n") + std::string(5, '\0');
    for (const std::size_t step : {std::size_t{1}, std::size_t{7}, packed.size()}) {
        GzipSource source(std::make_unique<Dripping>(packed, step));
        EXPECT_EQ(lines_of(source), (Strings{"one", "two"})) << step;
    }
    EXPECT_TRUE(is_gzip(std::as_bytes(std::span(packed))));
}

TEST(GzipSource, DamageAndEarlyEndsAreSaidAfterWhatIsGood) {
    const std::string packed = gzip("one\ntwo\nthree\n" + std::string(100'000, 'x'));
    for (std::size_t size = 3; size < packed.size(); ++size) {
        GzipSource source(std::make_unique<Dripping>(packed.substr(0, size), 16));
        TextLines lines(source);
        std::string_view line;
        while (lines.next(line)) {
        }
        EXPECT_TRUE(lines.failure().has_value()) << size;
    }
    GzipSource rubbish(std::make_unique<Dripping>(gzip("one\n") + "rubbish", 16));
    TextLines lines(rubbish);
    std::string_view line;
    ASSERT_TRUE(lines.next(line));
    EXPECT_EQ(line, "one");
    EXPECT_FALSE(lines.next(line));
    EXPECT_TRUE(lines.failure().has_value());
}

TEST(Utf16Source, BothOrdersWithSurrogates) {
    // "aä€😀\n": one to four bytes of UTF-8, the last a pair of surrogates.
    const std::u16string text = u"\uFEFFaä€😀\n";
    for (const Endian order : {Endian::kNative, Endian::kSwapped}) {
        std::string bytes;
        for (const char16_t unit : text) {
            const char low = static_cast<char>(unit & 0xff);
            const char high = static_cast<char>(unit >> 8);
            bytes += order == Endian::kNative ? low : high;
            bytes += order == Endian::kNative ? high : low;
        }
        EXPECT_EQ(utf16_order(std::as_bytes(std::span(bytes))), order);
        for (std::size_t step = 1; step < 5; ++step) {
            Utf16Source source(std::make_unique<Dripping>(bytes, step), order);
            EXPECT_EQ(lines_of(source), (Strings{"aä€😀"})) << step;
        }
    }
}

TEST(Utf16Source, WhatIsBroken) {
    // A lone high surrogate, a lone low one, and half a unit at the end.
    const std::string bytes(
        "\x00\xd8"
        "a\x00"
        "\x00\xdc"
        "b",
        7);
    Utf16Source source(std::make_unique<Dripping>(bytes, 3), Endian::kNative);
    EXPECT_EQ(lines_of(source), (Strings{"\uFFFDa\uFFFD\uFFFD"}));
    EXPECT_EQ(utf16_order(std::as_bytes(std::span(std::string_view("plain")))), std::nullopt);
}

}  // namespace
}  // namespace perfvigil::analyzer
