// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/input/cpu_profile.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "analyzer/input/profile_import.hpp"
#include "base/text.hpp"

namespace perfvigil::analyzer {
namespace {

constexpr std::uint64_t kHeaderWords = 3;  // behind the first two
constexpr std::uint64_t kMostDepth = 4096;

// Words of four or eight bytes, as the recorder's pointers were.
class Words {
public:
    Words(Bytes bytes, std::size_t size, Endian endian) : in_(bytes, endian), size_(size) {}
    [[nodiscard]] std::uint64_t next() { return size_ == 8 ? in_.u64() : in_.u32(); }
    [[nodiscard]] bool ok() const { return in_.ok(); }
    [[nodiscard]] std::size_t left() const { return in_.remaining() / size_; }
    [[nodiscard]] Bytes rest() { return in_.rest(); }
    [[nodiscard]] std::size_t position() const { return in_.position(); }

private:
    ByteReader in_;
    std::size_t size_;
};

// "0, 3, 0, period, 0" in one of the four forms that words have.
std::optional<Words> header_of(Bytes bytes, std::uint64_t& period) {
    for (const std::size_t size : {std::size_t{8}, std::size_t{4}}) {
        for (const Endian endian : {Endian::kNative, Endian::kSwapped}) {
            Words words(bytes, size, endian);
            const bool starts = words.next() == 0 && words.next() == kHeaderWords && words.next() == 0;
            period = words.next();
            if (starts && words.next() == 0 && words.ok() && period > 0 && period < 1'000'000'000) return words;
        }
    }
    return std::nullopt;
}

struct Mapping {
    std::uint64_t start = 0;
    std::uint64_t end = 0;
    std::string path;
};

// The text of /proc/self/maps behind the samples, executable lines only.
std::vector<Mapping> mappings_in(Bytes text) {
    std::vector<Mapping> mappings;
    std::string_view rest(reinterpret_cast<const char*>(text.data()), text.size());
    while (!rest.empty()) {
        auto line = next_piece(rest, '\n');
        const auto start = parse_number<std::uint64_t>(next_piece(line, '-'), 16);
        const auto end = parse_number<std::uint64_t>(next_piece(line, ' '), 16);
        if (!start || !end || next_piece(line, ' ').find('x') == std::string_view::npos) continue;
        for (int field = 0; field < 3; ++field) (void)next_piece(line, ' ');
        mappings.push_back({.start = *start, .end = *end, .path = std::string(trim(line))});
    }
    std::ranges::sort(mappings, {}, &Mapping::start);
    return mappings;
}

std::string_view path_at(const std::vector<Mapping>& mappings, std::uint64_t address) {
    const auto after = std::ranges::upper_bound(mappings, address, {}, &Mapping::start);
    if (after == mappings.begin() || address >= std::prev(after)->end) return "[unknown]";
    const auto& path = std::prev(after)->path;
    return path.empty() ? std::string_view("[anon]") : std::string_view(path);
}

// A count of a stack and its depth; the addresses follow. False at the end, and where no stack is so deep.
bool begin_record(Words& in, std::uint64_t& count, std::uint64_t& depth) {
    count = in.next();
    depth = in.next();
    return in.ok() && depth <= kMostDepth && depth <= in.left();
}

// What follows the last record, "0, 1, 0"; nullopt where there is none.
std::optional<std::vector<Mapping>> mappings_behind(Words words) {
    std::uint64_t count = 0;
    std::uint64_t depth = 0;
    while (begin_record(words, count, depth)) {
        std::uint64_t any = 0;
        for (std::uint64_t i = 0; i < depth; ++i) any |= words.next();
        if (count == 0 && depth == 1 && any == 0) return mappings_in(words.rest());
    }
    return std::nullopt;
}

}  // namespace

bool looks_like_cpu_profile(Bytes start) {
    std::uint64_t period = 0;
    return header_of(start, period).has_value();
}

Result<Profile> read_cpu_profile(Bytes bytes) {
    std::uint64_t period_us = 0;
    auto words = header_of(bytes, period_us);
    if (!words) return fail(ErrorCode::kInvalid, "not a CPU profile of gperftools: its first words are others");
    // The mappings come last: the stacks are walked twice.
    const auto mappings = mappings_behind(*words);
    const std::vector<Mapping> known = mappings.value_or(std::vector<Mapping>());

    ProfileImport profile;
    const std::uint64_t period = period_us * 1000;
    const std::uint32_t event = profile.event("cpu").value_or(0);
    ProfileEvent& made = profile.event_at(event);
    made.unit = WeightUnit::kNanoseconds;
    made.nominal_period = Nanoseconds(static_cast<std::int64_t>(period));
    made.frequency_mode = true;
    made.rate = (1'000'000'000 + period / 2) / period;
    const std::uint32_t context = profile.context(std::string_view{});
    std::uint64_t count = 0;
    std::uint64_t depth = 0;
    std::vector<std::uint32_t> stack;
    while (begin_record(*words, count, depth)) {
        stack.clear();
        bool trailer = count == 0;
        for (std::uint64_t i = 0; i < depth; ++i) {
            // All but the innermost are return addresses, one past their call.
            const std::uint64_t address = words->next();
            stack.push_back(profile.function({}, path_at(known, address - (i == 0 ? 0 : 1))));
            trailer = trailer && i == 0 && address == 0;
        }
        if (trailer) break;
        if (count > ProfileImport::kMostWeight / period)
            return fail(ErrorCode::kInvalid,
                        fmt::format("damaged at {:#x}: a stack counted {} times", words->position(), count));
        profile.count({.event = event,
                       .context = context,
                       .functions = stack,
                       .samples = count,
                       .weight = count * period,
                       .time = {}});
    }
    if (!mappings)
        profile.warn(fmt::format("The profile has no end: it was read up to {:#x}, and its binaries are unknown.",
                                 words->position()));
    profile.warn(
        "A CPU profile of gperftools holds addresses, no names: its functions are unknown ones of their binaries.");
    return profile.finish();
}

}  // namespace perfvigil::analyzer
