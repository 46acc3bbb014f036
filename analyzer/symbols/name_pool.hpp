// SPDX-License-Identifier: GPL-2.0-or-later
// Many short texts kept together, none of which moves while more are added. Nothing is given back before the end.
#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <string>
#include <string_view>

namespace perfvigil::analyzer {

class NamePool {
public:
    NamePool() = default;
    NamePool(NamePool&&) = default;
    NamePool& operator=(NamePool&&) = default;

    std::string_view keep(std::string_view text) {
        if (chunks_.empty() || chunks_.back().capacity() - chunks_.back().size() < text.size()) {
            // Small at first: most tables are.
            chunks_.emplace_back().reserve(std::max(text.size(), std::clamp(bytes_, kFirstChunk, kChunk)));
        }
        std::string& chunk = chunks_.back();
        const auto at = chunk.size();
        chunk += text;
        bytes_ += text.size();
        return std::string_view(chunk).substr(at);
    }
    [[nodiscard]] std::size_t bytes() const { return bytes_; }

private:
    static constexpr std::size_t kFirstChunk = 256;
    static constexpr std::size_t kChunk = 64U << 10;
    std::deque<std::string> chunks_;
    std::size_t bytes_ = 0;
};

}  // namespace perfvigil::analyzer
