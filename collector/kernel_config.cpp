// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/kernel_config.hpp"

#include <zlib.h>

#include <algorithm>
#include <array>

#include "base/fd.hpp"
#include "base/text.hpp"

namespace perfvigil::collector {
namespace {

// Both spellings where an option was renamed. Sorted.
constexpr auto kOptions = std::to_array<std::string_view>({
    "CONFIG_DEBUG_KMEMLEAK",
    "CONFIG_DEBUG_OBJECTS",
    "CONFIG_DEBUG_PAGEALLOC",
    "CONFIG_DEBUG_PAGEALLOC_ENABLE_DEFAULT",
    "CONFIG_DEBUG_PREEMPT",
    "CONFIG_DEBUG_VIRTUAL",
    "CONFIG_GCC_PLUGIN_STACKLEAK",
    "CONFIG_HARDENED_USERCOPY",
    "CONFIG_INIT_ON_ALLOC_DEFAULT_ON",
    "CONFIG_INIT_ON_FREE_DEFAULT_ON",
    "CONFIG_KASAN",
    "CONFIG_KASAN_HW_TAGS",
    "CONFIG_KCOV",
    "CONFIG_KCSAN",
    "CONFIG_KMSAN",
    "CONFIG_KSTACK_ERASE",
    "CONFIG_LOCKDEP",
    "CONFIG_LTO_CLANG",
    "CONFIG_MITIGATION_PAGE_TABLE_ISOLATION",
    "CONFIG_PAGE_POISONING",
    "CONFIG_PAGE_TABLE_ISOLATION",
    "CONFIG_PROVE_LOCKING",
    "CONFIG_SLUB_DEBUG_ON",
    "CONFIG_UBSAN",
    "CONFIG_UNWINDER_FRAME_POINTER",
    "CONFIG_UNWINDER_GUESS",
    "CONFIG_UNWINDER_ORC",
});

constexpr std::size_t kMostBytes = 4U << 20;  // a configuration with everything named is 300 KiB

}  // namespace

Result<std::string> gunzip(Bytes file, std::size_t limit) {
    z_stream stream{};
    constexpr int kGzipOnly = 16 + MAX_WBITS;
    if (::inflateInit2(&stream, kGzipOnly) != Z_OK) return fail(ErrorCode::kExhausted, "gzip: not enough memory");
    stream.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(file.data()));
    stream.avail_in = static_cast<uInt>(file.size());
    std::string text;
    std::array<char, 32768> block;
    int state = Z_OK;
    while (state == Z_OK && text.size() <= limit) {
        stream.next_out = reinterpret_cast<Bytef*>(block.data());
        stream.avail_out = static_cast<uInt>(block.size());
        state = ::inflate(&stream, Z_NO_FLUSH);
        text.append(block.data(), block.size() - stream.avail_out);
    }
    ::inflateEnd(&stream);
    if (text.size() > limit) return fail(ErrorCode::kExhausted, "gzip: more content than expected");
    if (state != Z_STREAM_END) return fail(ErrorCode::kInvalid, "gzip: damaged or cut off");
    return text;
}

KernelConfig parse_kernel_config(std::string_view text) {
    KernelConfig config;
    bool is_configuration = false;
    while (!text.empty()) {
        std::string_view line = trim(next_piece(text, '\n'));
        is_configuration |= line.starts_with("CONFIG_") || line.starts_with("# CONFIG_");
        if (!line.starts_with("CONFIG_")) continue;
        const std::string_view name = next_piece(line, '=');
        if (std::ranges::binary_search(kOptions, name)) config.emplace_back(name, line);
    }
    if (!is_configuration) return {};
    for (const std::string_view option : kOptions) {
        const bool set = std::ranges::any_of(config, [&](const auto& known) { return known.first == option; });
        if (!set) config.emplace_back(option, "n");
    }
    std::ranges::sort(config);
    const auto doubled = std::ranges::unique(config, {}, [](const auto& known) { return known.first; });
    config.erase(doubled.begin(), doubled.end());
    return config;
}

KernelConfig read_kernel_config(const std::string& root, const std::string& release) {
    if (const auto packed = read_file(root + "/proc/config.gz", kMostBytes)) {
        if (const auto text = gunzip(std::as_bytes(std::span(*packed)), kMostBytes)) {
            if (auto config = parse_kernel_config(*text); !config.empty()) return config;
        }
    }
    for (const std::string& path : {"/boot/config-" + release, "/lib/modules/" + release + "/config"}) {
        const auto text = read_file(root + path, kMostBytes);
        if (!text) continue;
        if (auto config = parse_kernel_config(*text); !config.empty()) return config;
    }
    return {};
}

}  // namespace perfvigil::collector
