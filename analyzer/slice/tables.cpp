// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/slice/tables.hpp"

#include <algorithm>
#include <atomic>
#include <utility>

namespace perfvigil::analyzer {
namespace {

constexpr std::size_t kFramesWhenTight = 8;
constexpr std::size_t kMostFrames = 0xffff;
constexpr std::size_t kFirstSlots = 1024;

std::uint64_t next_stamp() {
    static std::atomic<std::uint64_t> last{0};
    return ++last;
}

}  // namespace

void SliceTables::start(std::unique_ptr<Slice> slice) {
    slice_ = std::move(slice);
    slice_->clear();
    stamp_ = next_stamp();
    ++mark_;
    if (slots_.empty()) slots_.resize(kFirstSlots);
    if (used_slots_ != 0) std::ranges::fill(slots_, Slot{});
    used_slots_ = 0;
    entries_.clear();
    actors_.clear();
}

std::size_t SliceTables::bytes() const {
    return slice_->frames.size() * sizeof(Frame) + slice_->stack_frames.size() * sizeof(std::uint32_t) +
           slice_->stacks.size() * sizeof(Stack) + slice_->actors.size() * sizeof(Actor) +
           slice_->entries.size() * sizeof(Entry);
}

// --- stacks

std::uint64_t SliceTables::key_of(const Chain& chain) {
    const std::uint64_t key = mix(chain.path, (std::uint64_t{chain.broken_in.value} << 8U) | chain.flags);
    return key != 0 ? key : 1;  // 0 is a free slot
}

SliceTables::Slot& SliceTables::slot_of(std::uint64_t key) {
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = key & mask;
    while (slots_[at].key != key && slots_[at].key != 0) at = (at + 1) & mask;
    return slots_[at];
}

SliceTables::Slot& SliceTables::stack_slot(const Chain& chain, std::uint64_t key) {
    Slot& slot = slot_of(key);
    if (slot.key == key) return slot;

    const std::size_t full = bytes();
    const std::size_t keep =
        full > max_bytes_ ? 0 : (full > max_bytes_ - max_bytes_ / 4 ? kFramesWhenTight : kMostFrames);
    if (chain.frames.size() <= keep) return add_stack(chain, slot, key);
    slice_->cut_frames += chain.frames.size() - keep;
    shorten(chain, keep);
    const std::uint64_t short_key = key_of(shortened_);
    Slot& short_slot = slot_of(short_key);
    return short_slot.key == short_key ? short_slot : add_stack(shortened_, short_slot, short_key);
}

SliceTables::Slot& SliceTables::add_stack(const Chain& chain, Slot& slot, std::uint64_t key) {
    auto& list = slice_->stack_frames;
    const auto first = static_cast<std::uint32_t>(list.size());
    const std::size_t depth = chain.frames.size();
    list.resize(first + depth);
    for (std::size_t i = 0; i < depth; ++i) list[first + i] = place_of(chain.frames[depth - 1 - i]);
    slot.key = key;
    slot.stack = static_cast<std::uint32_t>(slice_->stacks.size());
    slot.entry = kNone;
    slice_->stacks.push_back({.first = first,
                              .depth = static_cast<std::uint16_t>(depth),
                              .flags = chain.flags,
                              .broken_in = chain.broken_in});
    if (++used_slots_ * 2 <= slots_.size()) return slot;
    grow_slots();
    return slot_of(key);
}

// The innermost `keep` frames, or the one frame that stands for all that did not fit. What the CPU did at the sample
// stays said.
void SliceTables::shorten(const Chain& chain, std::size_t keep) {
    shortened_.flags = static_cast<std::uint8_t>((chain.flags & ~(kStackBroken | kStackTruncated)) | kStackCut);
    shortened_.broken_in = {};
    shortened_.frames.assign(chain.frames.end() - static_cast<std::ptrdiff_t>(keep), chain.frames.end());
    if (keep == 0) shortened_.frames.push_back(numbers_->number_of({.dso = {}, .offset = kFrameCut}, nullptr));
    shortened_.path = numbers_->empty_path();
    for (const auto frame : shortened_.frames) shortened_.path = Chain::longer_path(shortened_.path, frame);
}

void SliceTables::grow_slots() {
    std::vector<Slot> old(slots_.size() * 2);
    old.swap(slots_);
    for (const Slot& slot : old) {
        if (slot.key != 0) slot_of(slot.key) = slot;
    }
}

std::uint32_t SliceTables::place_of(std::uint32_t number) {
    if (numbers_generation_ != numbers_->generation()) {
        numbers_generation_ = numbers_->generation();
        places_.clear();
        dso_marks_.clear();
    }
    if (number < places_.size() && places_[number].mark == mark_) return places_[number].position;
    return add_frame(number);
}

std::uint32_t SliceTables::add_frame(std::uint32_t number) {
    if (number >= places_.size()) places_.resize(std::max(numbers_->size(), places_.size() * 2));
    const auto position = static_cast<std::uint32_t>(slice_->frames.size());
    places_[number] = {.mark = mark_, .position = position};
    const Frame& frame = numbers_->frame(number);
    slice_->frames.push_back(frame);
    if (frame.dso.value == 0) return position;
    const std::uint32_t dso = numbers_->dso_number_of(number);
    if (dso >= dso_marks_.size()) dso_marks_.resize(std::max<std::size_t>(dso + 1, dso_marks_.size() * 2));
    if (std::exchange(dso_marks_[dso], mark_) != mark_) slice_->dsos.push_back(numbers_->dso_of(number));
    return position;
}

// --- entries

void SliceTables::count(const Chain& chain, std::uint32_t actor, collector::EventIndex event, bool idle,
                        std::uint64_t samples, std::uint64_t weight) {
    const std::uint64_t key = key_of(chain);
    __builtin_prefetch(&slots_[key & (slots_.size() - 1)], 1);
    settle();
    pending_.any = true;
    pending_.chain = chain;
    pending_.key = key;
    pending_.actor = actor;
    pending_.event = event;
    pending_.idle = idle;
    pending_.samples = samples;
    pending_.weight = weight;
}

void SliceTables::count_pending() {
    const auto& [any, chain, key, actor, event, idle, samples, weight] = pending_;
    pending_.any = false;
    Slot& slot = stack_slot(chain, key);
    const std::uint32_t stack = slot.stack;
    const auto same = [&](std::uint32_t position) {
        const Entry& entry = slice_->entries[position];
        return entry.stack == stack && entry.actor == pending_.actor && entry.event == pending_.event &&
               entry.idle == pending_.idle;
    };
    std::uint32_t position = slot.entry;
    if (position == kNone) {
        position = slot.entry = add_entry(stack, actor, event, idle);
    } else if (!same(position)) {
        const std::uint64_t hash = mix(mix(hash_seed(), (std::uint64_t{stack} << 32U) | actor),
                                       (std::uint64_t{event.value} << 1U) | (idle ? 1U : 0U));
        position = entries_.find(hash, same);
        if (position == kNone) {
            position = add_entry(stack, actor, event, idle);
            entries_.insert(hash, position);
        }
    }
    slice_->entries[position].samples += samples;
    slice_->entries[position].weight += weight;
}

std::uint32_t SliceTables::add_entry(std::uint32_t stack, std::uint32_t actor, collector::EventIndex event, bool idle) {
    slice_->entries.push_back({.event = event, .stack = stack, .actor = actor, .idle = idle});
    return static_cast<std::uint32_t>(slice_->entries.size() - 1);
}

// --- actors

std::uint32_t SliceTables::actor(Pid pid, collector::ProcessEpoch epoch, bool kernel_thread, std::string_view comm,
                                 std::string_view cgroup_path, ActorPart part) {
    if (bytes() > max_bytes_) {
        pid = {};
        epoch = {};
        kernel_thread = false;
        comm = "(other)";
        cgroup_path = {};
        part = {};
    }
    std::uint64_t hash = mix_text(mix_text(mix(hash_seed(), epoch.value), comm), cgroup_path);
    if (part.tid) hash = mix(hash, static_cast<std::uint32_t>(part.tid->value));
    if (part.cpu) hash = mix(hash, part.cpu->value);
    const auto found = actors_.find(hash, [&](std::uint32_t position) {
        const Actor& actor = slice_->actors[position];
        return actor.epoch == epoch && actor.pid == pid && actor.comm == comm && actor.cgroup_path == cgroup_path &&
               actor.tid == part.tid && actor.cpu == part.cpu;
    });
    if (found != kNone) {
        // Its first sample may be older than its first mapping.
        if (slice_->actors[found].program == nullptr) slice_->actors[found].program = part.program;
        return found;
    }
    const auto position = static_cast<std::uint32_t>(slice_->actors.size());
    Actor& actor = slice_->add_actor();
    actor.pid = pid;
    actor.epoch = epoch;
    actor.kernel_thread = kernel_thread;
    actor.comm.assign(comm);
    actor.cgroup_path.assign(cgroup_path);
    actor.tid = part.tid;
    actor.cpu = part.cpu;
    actor.program = part.program;
    actors_.insert(hash, position);
    return position;
}

}  // namespace perfvigil::analyzer
