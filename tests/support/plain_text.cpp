// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/support/plain_text.hpp"

#include <stdexcept>
#include <vector>

#include "collector/zstd_stream.hpp"
#include "tests/support/message_view.hpp"

namespace perfvigil::test {
namespace {

constexpr std::string_view kGzip{"\x1f\x8b", 2};
constexpr std::string_view kZstd{"\x28\xb5\x2f\xfd", 4};
constexpr std::size_t kLongestHead = 64;
constexpr std::size_t kMostBytes = 256U << 20;

}  // namespace

std::string plain_text(std::string_view bytes) {
    if (bytes.starts_with(kGzip)) return gunzip(bytes);
    const auto frame = bytes.substr(0, kLongestHead).find(kZstd);
    if (frame == std::string_view::npos) return std::string(bytes);
    auto decompressor = collector::ZstdDecompressor::create();
    std::vector<std::byte> plain;
    const auto packed = bytes.substr(frame);
    const auto done = decompressor.value().decompress(
        Bytes(reinterpret_cast<const std::byte*>(packed.data()), packed.size()), plain, kMostBytes);
    if (!done) throw std::runtime_error(done.error().message);
    return std::string(reinterpret_cast<const char*>(plain.data()), plain.size());
}

}  // namespace perfvigil::test
