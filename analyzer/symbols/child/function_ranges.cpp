// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/symbols/child/function_ranges.hpp"

#include <algorithm>
#include <limits>
#include <tuple>

namespace perfvigil::analyzer {
namespace {

// Smaller is better.
auto rank(const FunctionSymbol& symbol) {
    const auto underscores = std::min(symbol.name.find_first_not_of('_'), symbol.name.size());
    return std::tuple(symbol.label, symbol.size == 0, symbol.weak, !symbol.global, underscores,
                      std::numeric_limits<std::size_t>::max() - symbol.name.size(), symbol.name);
}

std::uint64_t end_of(const FunctionSymbol& symbol) {
    constexpr auto kMax = std::numeric_limits<std::uint64_t>::max();
    return symbol.size > kMax - symbol.start ? kMax : symbol.start + symbol.size;
}

}  // namespace

bool better_name(const FunctionSymbol& a, const FunctionSymbol& b) { return rank(a) < rank(b); }

namespace {

void keep_best_of_each_address(std::vector<FunctionSymbol>& symbols) {
    std::ranges::sort(symbols, {}, &FunctionSymbol::start);
    auto kept = symbols.begin();
    for (auto first = symbols.begin(); first != symbols.end();) {
        const auto next =
            std::find_if(first, symbols.end(), [&](const FunctionSymbol& s) { return s.start != first->start; });
        *kept++ = *std::min_element(first, next, better_name);
        first = next;
    }
    symbols.erase(kept, symbols.end());
}

void drop_labels_inside_functions(std::vector<FunctionSymbol>& symbols) {
    std::uint64_t covered = 0;
    std::erase_if(symbols, [&](const FunctionSymbol& symbol) {
        if (symbol.label && symbol.start < covered) return true;
        if (!symbol.label) covered = std::max(covered, end_of(symbol));
        return false;
    });
}

void close_open_ends(std::vector<FunctionSymbol>& symbols) {
    for (std::size_t i = 0; i < symbols.size(); ++i) {
        auto& symbol = symbols[i];
        if (symbol.size != 0) continue;
        const auto next = i + 1 < symbols.size() ? symbols[i + 1].start : std::numeric_limits<std::uint64_t>::max();
        const auto end = std::min(next, symbol.limit);
        symbol.size = end > symbol.start ? end - symbol.start : 0;
    }
}

// Sweeps the symbols by address with the functions that are open at it: the innermost, latest begun, has the word.
class Sweep {
public:
    explicit Sweep(const std::vector<FunctionSymbol>& symbols) : symbols_(symbols) {}

    void open(std::uint32_t index) {
        close_until(symbols_[index].start);
        if (!open_.empty()) emit(open_.back(), symbols_[index].start);
        position_ = symbols_[index].start;
        open_.push_back(index);
    }
    void close_until(std::uint64_t address) {
        while (!open_.empty() && end_of(symbols_[open_.back()]) <= address) {
            emit(open_.back(), end_of(symbols_[open_.back()]));
            open_.pop_back();
        }
    }
    [[nodiscard]] std::vector<FunctionRange> take() && { return std::move(ranges_); }

private:
    void emit(std::uint32_t index, std::uint64_t end) {
        if (end <= position_) return;
        ranges_.push_back({.start = position_, .end = end, .symbol = index});
        position_ = end;
    }

    const std::vector<FunctionSymbol>& symbols_;
    std::vector<std::uint32_t> open_;
    std::vector<FunctionRange> ranges_;
    std::uint64_t position_ = 0;
};

}  // namespace

std::vector<FunctionRange> disjoint_ranges(std::vector<FunctionSymbol>& symbols) {
    keep_best_of_each_address(symbols);
    drop_labels_inside_functions(symbols);
    close_open_ends(symbols);
    Sweep sweep(symbols);
    for (std::uint32_t i = 0; i < symbols.size(); ++i) sweep.open(i);
    sweep.close_until(std::numeric_limits<std::uint64_t>::max());
    return std::move(sweep).take();
}

}  // namespace perfvigil::analyzer
