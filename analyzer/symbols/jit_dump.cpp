// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/symbols/jit_dump.hpp"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>

#include "base/text.hpp"

namespace perfvigil::analyzer {
namespace {

constexpr std::uint32_t kMagic = 0x4A695444;
constexpr std::uint32_t kVersion = 1;
constexpr std::uint64_t kArchTimestamp = 1;  // flag: times are the CPU's own counter
constexpr std::size_t kHeader = 40;
constexpr std::size_t kRecord = 16;
constexpr std::size_t kLoad = 40;  // behind kRecord, before the name
constexpr std::size_t kMove = 48;
constexpr unsigned kPageBits = 12;

enum RecordId : std::uint32_t { kIdLoad = 0, kIdMove = 1 };  // 2 debug info, 3 close, 4 unwinding

}  // namespace

Result<bool> JitDump::append(Bytes piece) {
    if (!started_) {
        auto header = read_header(piece);
        if (!header || !*header) return header;
        if (next_ >= piece.size()) return true;
        piece = piece.subspan(next_);
    }
    bool any = false;
    while (true) {
        ByteReader in(piece);
        Record record{.id = in.u32(), .size = in.u32()};
        record.time = monotonic_from_ns(in.u64());
        if (!in.ok()) return any;
        if (record.size < kRecord) {
            return fail(ErrorCode::kInvalid,
                        fmt::format("the record at offset {} claims a size of {} bytes; what follows it cannot be "
                                    "found",
                                    next_, record.size));
        }
        if (!read_record(record, in)) return any;
        any = true;
        next_ += record.size;
        if (record.size >= piece.size()) return true;
        piece = piece.subspan(record.size);
    }
}

Result<bool> JitDump::read_header(Bytes piece) {
    ByteReader in(piece);
    const auto magic = in.u32();
    const auto version = in.u32();
    const auto size = in.u32();
    in.skip(8);  // ELF machine, padding
    const auto pid = in.u32();
    in.skip(8);  // time
    const auto flags = in.u64();
    if (!in.ok()) return false;
    if (magic == byte_swap(kMagic)) {
        return fail(ErrorCode::kUnsupported, "was written by a machine of the other byte order; read it there");
    }
    if (magic != kMagic) return fail(ErrorCode::kInvalid, "is no jitdump: it does not begin with JiTD");
    if (version != kVersion) {
        return fail(ErrorCode::kUnsupported, fmt::format("is of jitdump version {}; 1 is known", version));
    }
    if (size < kHeader) return fail(ErrorCode::kInvalid, fmt::format("claims a header of {} bytes", size));
    if ((flags & kArchTimestamp) != 0) {
        return fail(ErrorCode::kUnsupported,
                    "takes its times from the CPU's own counter, which those of a recording cannot be compared with; "
                    "let the runtime use CLOCK_MONOTONIC");
    }
    started_ = true;
    pid_ = pid;
    next_ = size;
    return true;
}

bool JitDump::read_record(const Record& record, ByteReader body) {
    const std::uint64_t inside = record.size - kRecord;
    if (record.id == kIdLoad) return load(record, body);
    if (record.id == kIdMove) {
        if (inside < kMove) {
            ++malformed_;
        } else {
            if (body.remaining() < kMove) return false;
            move(record, body);
        }
    }
    return true;
}

bool JitDump::load(const Record& record, ByteReader body) {
    if (record.size < kRecord + kLoad + 1) {
        ++malformed_;
        return true;
    }
    body.skip(8);  // pid, tid
    body.skip(8);  // the address that the runtime's own tables say
    const auto start = body.u64();
    const auto size = body.u64();
    const auto index = body.u64();
    if (!body.ok()) return false;
    const std::uint64_t behind = record.size - kRecord - kLoad;  // name, NUL, code
    if (size >= behind || size == 0 || size > limits_.code_size || start + size < start) {
        ++malformed_;
        return true;
    }
    const auto field = std::min<std::uint64_t>(behind - size, limits_.name_length + 1);
    if (body.remaining() < field) return false;
    const auto name = escape(body.text_field(field).substr(0, limits_.name_length));
    if (functions_.size() >= limits_.functions || names_.bytes() + name.size() > limits_.name_bytes) {
        cut_ = true;
        return true;
    }
    functions_.push_back({.name = names_.keep(name), .code = next_ + record.size - size, .size = size});
    if (place({.time = record.time, .start = start, .function = static_cast<std::uint32_t>(functions_.size() - 1)})) {
        by_index_[index] = static_cast<std::uint32_t>(placements_.size() - 1);
    }
    return true;
}

void JitDump::move(const Record& record, ByteReader body) {
    body.skip(8);  // pid, tid
    body.skip(8);
    const auto from = body.u64();
    const auto to = body.u64();
    body.skip(8);  // size: the code's is known
    const auto index = body.u64();
    const auto found = by_index_.find(index);
    if (found == by_index_.end() || placements_[found->second].start != from ||
        to + functions_[placements_[found->second].function].size < to) {
        ++malformed_;
        return;
    }
    const auto function = placements_[found->second].function;
    placements_[found->second].until = record.time;
    if (place({.time = record.time, .start = to, .function = function})) {
        found->second = static_cast<std::uint32_t>(placements_.size() - 1);
    }
}

bool JitDump::place(const Placement& placement) {
    const auto first = placement.start >> kPageBits;
    const auto last = (placement.start + functions_[placement.function].size - 1) >> kPageBits;
    if (placements_.size() >= 2 * limits_.functions || on_pages_ + (last - first) >= 4 * limits_.functions) {
        cut_ = true;
        return false;
    }
    const auto number = static_cast<std::uint32_t>(placements_.size());
    placements_.push_back(placement);
    for (auto page = first; page <= last; ++page) {
        auto& here = pages_[page];
        if (here.size() >= limits_.per_page) {
            const auto half = here.size() / 2;
            here.erase(here.begin(), here.begin() + static_cast<std::ptrdiff_t>(half));
            on_pages_ -= half;
            cut_ = true;
        }
        here.push_back(number);
        ++on_pages_;
    }
    return true;
}

std::optional<JitDump::Function> JitDump::find(RuntimeAddress address, MonotonicTime from, MonotonicTime to) const {
    const auto page = pages_.find(address.value >> kPageBits);
    if (page == pages_.end()) return std::nullopt;
    const auto middle = from + (to - from) / 2;
    const Placement* before = nullptr;  // the last one up to the middle
    const Placement* after = nullptr;   // the first one behind it
    for (const auto number : page->second) {
        const Placement& here = placements_[number];
        if (address.value < here.start || address.value - here.start >= size_of(here)) continue;
        if (here.time > to || here.until < from) continue;
        if (here.time <= middle && here.until > middle) {
            if (before == nullptr || here.time >= before->time) before = &here;
        } else if (after == nullptr || here.time < after->time) {
            after = &here;
        }
    }
    const Placement* found = before != nullptr ? before : after;
    if (found == nullptr) return std::nullopt;
    const Code& code = functions_[found->function];
    return Function{.name = code.name, .start = RuntimeAddress{found->start}, .size = code.size};
}

std::optional<JitDump::Function> JitDump::find(FileOffset offset) const {
    const auto after = std::ranges::upper_bound(functions_, offset.value, {}, &Code::code);
    if (after == functions_.begin()) return std::nullopt;
    const Code& code = *std::prev(after);
    if (offset.value - code.code >= code.size) return std::nullopt;
    return Function{.name = code.name, .start = RuntimeAddress{code.code}, .size = code.size};
}

std::size_t JitDump::bytes() const {
    constexpr std::size_t kPage = 64;
    return functions_.size() * (sizeof(Code) + 16) + placements_.size() * sizeof(Placement) + pages_.size() * kPage +
           on_pages_ * sizeof(std::uint32_t) + names_.bytes();
}

std::optional<Pid> pid_of_jit_marker(std::string_view path) {
    constexpr std::string_view kDeleted = " (deleted)";
    constexpr std::string_view kBefore = "jit-";
    constexpr std::string_view kBehind = ".dump";
    if (path.ends_with(kDeleted)) path.remove_suffix(kDeleted.size());
    path = base_name(path);
    if (!path.starts_with(kBefore) || !path.ends_with(kBehind)) return std::nullopt;
    path.remove_prefix(kBefore.size());
    path.remove_suffix(kBehind.size());
    const auto number = parse_number<std::int32_t>(path);
    if (!number || *number <= 0) return std::nullopt;
    return Pid{*number};
}

}  // namespace perfvigil::analyzer
