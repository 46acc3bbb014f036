// SPDX-License-Identifier: GPL-2.0-or-later
// The frames of one sample of `perf script` as functions of a ProfileImport. Lines repeat, so what follows an address
// is looked up by its hash before it is taken apart.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/input/profile_import.hpp"
#include "analyzer/input/script_line.hpp"

namespace perfvigil::analyzer {

class ScriptFrames {
public:
    explicit ScriptFrames(ProfileImport& profile) : profile_(profile), known_(kKnown), lines_(kLines) {}

    // The whole line of a frame, "\t%16x SYMBOL (DSO)", if one just like it was remembered: most are, for callers have
    // few call sites.
    [[nodiscard]] bool add_known_line(std::string_view line) {
        if (line.size() < kLeastLine || line.size() > kMostLine || !inlined_.empty()) return false;
        const Line& known = lines_[slot_of(line)];
        if (known.size != line.size() || std::memcmp(known.text.data(), line.data(), line.size()) != 0) return false;
        functions_.push_back(known.function);
        return true;
    }
    // `line` is that of the last add().
    void remember_line(std::string_view line);

    // "SYMBOL+0xOFFSET (DSO)" of the next frame outwards.
    void add(std::string_view text) {
        const std::uint64_t hash = mix_text(hash_seed(), text);
        const Known& known = known_[hash & (kKnown - 1)];
        if (known.hash == hash && inlined_.empty()) {
            functions_.push_back(known.function);
            alone_ = true;
        } else {
            take_apart(text, hash);
        }
    }
    // Innermost first; complete after end().
    [[nodiscard]] std::span<const std::uint32_t> functions() const { return functions_; }
    [[nodiscard]] bool empty() const { return functions_.empty() && inlined_.empty(); }
    void end();
    // How many frames of each kernel module were calls that perf took from debug information, as inlined.
    [[nodiscard]] const std::map<std::string, std::uint64_t, std::less<>>& module_inlines() const {
        return module_inlines_;
    }
    void clear() {
        functions_.clear();
        inlined_.clear();
        alone_ = false;
    }

private:
    static constexpr std::size_t kKnown = 1U << 16;
    static constexpr std::size_t kMostModules = 256;
    struct Known {
        std::uint64_t hash = 0;  // 64 bits under a seed of this run: equal means the same text
        std::uint32_t function = 0;
    };
    static constexpr unsigned kLineBits = 15;
    static constexpr std::size_t kLines = 1U << kLineBits;
    static constexpr std::size_t kLeastLine = 24;
    static constexpr std::size_t kMostLine = 120;
    struct alignas(64) Line {
        std::uint32_t size = 0;
        std::uint32_t function = 0;
        std::array<char, kMostLine> text;
    };
    // By the last digits of the address.
    [[nodiscard]] static std::size_t slot_of(std::string_view line) {
        std::uint64_t digits = 0;
        std::memcpy(&digits, line.data() + 9, sizeof digits);
        return (digits * 0x9e3779b97f4a7c15U) >> (64U - kLineBits);
    }
    void take_apart(std::string_view text, std::uint64_t hash);
    void add_symbol(const ScriptFrame& frame, std::uint64_t hash);
    void add_inlined(std::string_view dso);

    ProfileImport& profile_;
    std::vector<Known> known_;
    std::vector<Line> lines_;
    bool alone_ = false;  // the last add() was of one function, whatever stood before it
    std::vector<std::uint32_t> functions_;
    std::map<std::string, std::uint64_t, std::less<>> module_inlines_;
    std::vector<std::string> inlined_;  // whose DSO is that of the next frame that has one
};

}  // namespace perfvigil::analyzer
