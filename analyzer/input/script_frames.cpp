// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/input/script_frames.hpp"

#include <algorithm>
#include <utility>

#include "analyzer/input/dso_name.hpp"

namespace perfvigil::analyzer {

void ScriptFrames::remember_line(std::string_view line) {
    if (!std::exchange(alone_, false) || line.size() < kLeastLine || line.size() > kMostLine) return;
    Line& known = lines_[slot_of(line)];
    known.size = static_cast<std::uint32_t>(line.size());
    known.function = functions_.back();
    std::ranges::copy(line, known.text.begin());
}

void ScriptFrames::take_apart(std::string_view text, std::uint64_t hash) {
    const ScriptFrame frame = parse_script_symbol(text);
    alone_ = false;
    if (frame.inlined) {
        inlined_.emplace_back(frame.symbol);
        return;
    }
    alone_ = inlined_.empty();
    add_inlined(frame.dso);
    add_symbol(frame, hash);
}

// Runtimes that inline print "OUTER->INNER" as the name of one address.
void ScriptFrames::add_symbol(const ScriptFrame& frame, std::uint64_t hash) {
    constexpr std::string_view kInto = "->";
    std::string_view symbol = frame.symbol;
    if (is_jit_dso(frame.dso)) {
        for (auto at = symbol.rfind(kInto); at != std::string_view::npos && at != 0; at = symbol.rfind(kInto)) {
            functions_.push_back(profile_.function(symbol.substr(at + kInto.size()), frame.dso));
            symbol = symbol.substr(0, at);
            hash = 0;
            alone_ = false;
        }
    }
    functions_.push_back(profile_.function(symbol, frame.dso));
    if (hash != 0) known_[hash & (kKnown - 1)] = {.hash = hash, .function = functions_.back()};
}

void ScriptFrames::add_inlined(std::string_view dso) {
    const auto module = inlined_.empty() ? std::string_view() : kernel_module_of(dso);
    if (!module.empty() && (module_inlines_.size() < kMostModules || module_inlines_.contains(module))) {
        module_inlines_.try_emplace(std::string(module)).first->second += inlined_.size();
    }
    for (const auto& symbol : inlined_) functions_.push_back(profile_.function(symbol, dso));
    inlined_.clear();
}

void ScriptFrames::end() { add_inlined({}); }

}  // namespace perfvigil::analyzer
