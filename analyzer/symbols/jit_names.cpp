// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/symbols/jit_names.hpp"

#include <algorithm>
#include <chrono>
#include <ranges>

#include <fmt/format.h>

#include "base/text.hpp"

namespace perfvigil::analyzer {
namespace {

constexpr std::chrono::seconds kReadAgain{1};     // in effect once a slice
constexpr std::chrono::seconds kLookForDump{60};  // where there was none: it takes reading all mappings
constexpr std::uint64_t kMaxPerfMap = 64U << 20;
constexpr std::size_t kMaxReadings = 4;  // of a perf map that is written anew, in one window
constexpr std::uint64_t kKeepWindows = 3;
constexpr std::size_t kMaxRefusals = 16;

}  // namespace

JitNames::JitNames(JitNamesOptions options, FileSource& files, const Clock& clock)
    : options_(std::move(options)), files_(files), clock_(clock) {}

// Older readings go, and those of processes that had no sample of such code for a while; both can be read again.
void JitNames::begin_window() {
    ++window_;
    boost::unordered::erase_if(processes_,
                               [&](const auto& known) { return window_ - known.second->last_used > kKeepWindows; });
    for (const auto& [id, process] : processes_) {
        auto& maps = process->maps;
        if (maps.size() > 1) maps.erase(maps.begin(), maps.end() - 1);
    }
    count_bytes();
}

void JitNames::begin_slice(MonotonicTime from, MonotonicTime to) {
    slice_from_ = from;
    slice_to_ = to;
}

std::expected<JitNames::Function, JitNames::Missing> JitNames::find(const collector::Dso& dso, std::uint64_t address) {
    if (options_.origin == Origin::kCapture && !options_.this_boot) return std::unexpected(Missing::kUnsaid);
    auto& known = processes_[dso.id];
    if (known == nullptr) known = std::make_unique<Process>();
    Process& process = *known;
    process.last_used = window_;
    if (!process.tried || (options_.origin == Origin::kLive && clock_.monotonic() >= process.read_again)) {
        refresh(dso, process);
    }
    if (process.dump != nullptr) {
        if (const auto found = process.dump->dump().find(RuntimeAddress{address}, slice_from_, slice_to_)) {
            return Function{.name = found->name, .start = found->start.value, .size = found->size};
        }
    }
    for (const auto& reading : process.maps | std::views::reverse) {
        if (const auto found = reading->map().find(RuntimeAddress{address})) {
            return Function{.name = found->name, .start = found->start.value, .size = found->size};
        }
    }
    return std::unexpected(process.dump == nullptr && process.maps.empty() ? Missing::kUnsaid : Missing::kUncovered);
}

std::expected<JitNames::Function, JitNames::Missing> JitNames::find_in_dump(const collector::Dso& marker,
                                                                            std::uint64_t offset) {
    const auto* dump = dump_of(marker);
    if (dump == nullptr) return std::unexpected(Missing::kUnsaid);
    const auto found = dump->find(FileOffset{offset});
    if (!found) return std::unexpected(Missing::kUncovered);
    return Function{.name = found->name, .start = found->start.value, .size = found->size};
}

const JitDump* JitNames::dump_of(const collector::Dso& marker) {
    if (options_.origin != Origin::kCapture) return nullptr;
    const auto [known, fresh] = dumps_.try_emplace(marker.id);
    if (!fresh) return known->second == nullptr ? nullptr : &known->second->dump();
    const auto& path = marker.path;
    // Without device and inode another process's file of that name would do as well.
    if (!options_.this_boot || marker.inode == 0) {
        refuse(
            fmt::format("Code that {} describes has no names: the capture is not of this boot, or does not say which "
                        "file it was. perf inject --jit where it was recorded keeps them.",
                        escape(path)));
        return nullptr;
    }
    auto file = files_.file_of(marker);
    if (!file) {
        refuse("Code that was made at run time has no names: " + escape(file.error().message) + ".");
        return nullptr;
    }
    auto reading = std::make_unique<JitDumpReading>(*file, pid_of_jit_marker(path));
    files_.release(marker);
    reading->read_on();
    if (reading->error()) refuse(fmt::format("{} {}.", escape(path), reading->error()->message));
    if (!reading->dump().started()) return nullptr;
    dumps_[marker.id] = std::move(reading);
    count_bytes();
    return &dumps_[marker.id]->dump();
}

void JitNames::refresh(const collector::Dso& dso, Process& process) {
    process.tried = true;
    process.read_again = clock_.monotonic() + kReadAgain;
    if (bytes_ >= options_.bytes) return;
    // Of a capture, dumps come by their marker.
    if (options_.origin == Origin::kLive) refresh_dump(dso.first_pid, process);
    refresh_map(dso.first_pid, process);
    count_bytes();
}

void JitNames::refresh_dump(Pid pid, Process& process) {
    if (process.dump == nullptr) {
        if (clock_.monotonic() < process.look_for_dump) return;
        process.look_for_dump = clock_.monotonic() + kLookForDump;
        auto file = open_jit_dump(pid, options_.proc);
        if (!file || *file == nullptr) return;
        // Whom the file calls its own is judged by its header: the pid that the process has for itself.
        process.dump = std::make_unique<JitDumpReading>(*file, std::nullopt);
    }
    if (process.dump->error()) return;
    process.dump->read_on();
    if (const auto& error = process.dump->error()) {
        refuse(fmt::format("The jitdump of process {} {}.", pid.value, error->message));
    }
}

void JitNames::refresh_map(Pid pid, Process& process) {
    auto file =
        open_perf_map(pid, {.proc = options_.proc, .host_root = options_.host_root, .gone_since = gone_since()});
    if (!file) {
        const auto code = file.error().code;
        if (code == ErrorCode::kPermission || code == ErrorCode::kInvalid) refuse(file.error().message + ".");
        return;
    }
    auto& maps = process.maps;
    if (maps.empty() || !maps.back()->goes_on_in(**file)) {
        if (maps.size() >= kMaxReadings) return;
        maps.push_back(std::make_unique<PerfMapReading>());
    }
    maps.back()->read_on(**file, kMaxPerfMap);
    if (maps.back()->cut()) {
        refuse(fmt::format("The perf map of process {} is too large: its first {} were read.", pid.value,
                           human_bytes(kMaxPerfMap)));
    }
}

WallTime JitNames::gone_since() const {
    if (options_.origin == Origin::kCapture) return options_.capture_start;
    return clock_.wall() - std::max(Nanoseconds{}, clock_.monotonic() - slice_from_);
}

void JitNames::count_bytes() {
    bytes_ = 0;
    for (const auto& [id, process] : processes_) {
        for (const auto& reading : process->maps) bytes_ += reading->map().bytes();
        if (process->dump != nullptr) bytes_ += process->dump->dump().bytes();
    }
    for (const auto& [id, reading] : dumps_) bytes_ += reading == nullptr ? 0 : reading->dump().bytes();
}

void JitNames::refuse(std::string sentence) {
    if (refusals_.size() < kMaxRefusals && std::ranges::find(refusals_, sentence) == refusals_.end()) {
        refusals_.push_back(std::move(sentence));
    }
}

}  // namespace perfvigil::analyzer
