// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/time_order.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

namespace perfvigil::collector {
namespace {

constexpr std::size_t kNoRun = static_cast<std::size_t>(-1);
// How far back an item may go within its run: samples of nested interrupts, a few records at most.
constexpr std::size_t kLookBack = 8;
// Chains that are kept open for continuation. Beyond it (input without any order) every run is a chain of its own.
constexpr std::size_t kMaxOpenChains = 1024;
// What is kept in reserve after a burst; a drain of 100 ms at 99 Hz takes a fraction of it on hundreds of CPUs.
constexpr std::size_t kMaxSpareBytes = 8U << 20;

}  // namespace

void TimeOrder::push_view(MonotonicTime time, Bytes record, std::uint32_t tag) {
    append({time, next_sequence_++, record.data(), static_cast<std::uint32_t>(record.size()), tag});
}

void TimeOrder::push_copy(MonotonicTime time, Bytes record, std::uint32_t tag) {
    assert(record.size() <= kBlockSize);
    if (blocks_.empty() || record.size() > kBlockSize - block_used_) {
        Block bytes;
        if (spare_blocks_.empty()) {
            bytes = std::make_unique_for_overwrite<std::byte[]>(kBlockSize);
        } else {
            bytes = std::move(spare_blocks_.back());
            spare_blocks_.pop_back();
        }
        blocks_.push_back({std::move(bytes), next_sequence_});
        block_used_ = 0;
    }
    std::byte* const at = blocks_.back().bytes.get() + block_used_;
    std::copy(record.begin(), record.end(), at);
    block_used_ += std::min((record.size() + 7) / 8 * 8, kBlockSize - block_used_);
    push_view(time, {at, record.size()}, tag);
}

void TimeOrder::append(Item added) {
    if (count_ / kItemsPerChunk == chunks_.size()) chunks_.push_back(std::make_unique<Item[]>(kItemsPerChunk));
    const std::size_t place = place_in_last_run(added.time);
    if (place == kNoRun) {
        runs_.push_back({count_, count_, kNoRun});
        item(count_) = added;
    } else {
        for (std::size_t i = count_; i > place; --i) item(i) = item(i - 1);
        item(place) = added;
    }
    ++count_;
    runs_.back().end = count_;
}

// Where an item of this time, arriving now, belongs in the last run; kNoRun: it starts another.
std::size_t TimeOrder::place_in_last_run(MonotonicTime time) {
    if (runs_.empty()) return kNoRun;
    const std::size_t begin = runs_.back().begin;
    const std::size_t floor = count_ - std::min(count_ - begin, kLookBack);
    std::size_t place = count_;
    while (place > floor && item(place - 1).time > time) --place;
    if (place > floor || place == begin) return place;
    return item(place - 1).time > time ? kNoRun : place;
}

TimeOrder::Head TimeOrder::head_of(std::size_t run) {
    const Item& first = item(runs_[run].begin);
    return {first.time, first.sequence, run};
}

// Every run continues the chain whose end lies closest before its start, or opens a new one. Along a chain both time
// and position grow, so equal times stay in order of arrival.
void TimeOrder::link_runs() {
    tails_.clear();
    for (std::size_t r = 0; r < runs_.size(); ++r) {
        runs_[r].next = kNoRun;
        const MonotonicTime start = item(runs_[r].begin).time;
        const MonotonicTime end = item(runs_[r].end - 1).time;
        const auto later = [](MonotonicTime t, const Tail& tail) { return t < tail.time; };
        auto from = std::upper_bound(tails_.begin(), tails_.end(), start, later);
        if (from != tails_.begin()) {
            --from;
            runs_[from->run].next = r;
            auto to = std::upper_bound(from, tails_.end(), end, later);
            std::move(from + 1, to, from);
            *(to - 1) = {end, r};
            continue;
        }
        heads_.push_back(head_of(r));
        if (tails_.size() < kMaxOpenChains) {
            tails_.insert(std::upper_bound(tails_.begin(), tails_.end(), end, later), {end, r});
        }
    }
}

void TimeOrder::begin_merge() {
    delivered_ = false;
    heads_.clear();
    link_runs();
    for (std::size_t i = heads_.size() / 2; i-- > 0;) sift_down(i);
}

void TimeOrder::sift_down(std::size_t at) {
    const Head moved = heads_[at];
    for (;;) {
        std::size_t child = 2 * at + 1;
        if (child >= heads_.size()) break;
        if (child + 1 < heads_.size() && heads_[child + 1].before(heads_[child])) ++child;
        if (!heads_[child].before(moved)) break;
        heads_[at] = heads_[child];
        at = child;
    }
    heads_[at] = moved;
}

const TimeOrder::Item* TimeOrder::next_through(MonotonicTime last) {
    if (heads_.empty() || heads_.front().time > last) return nullptr;
    delivered_ = true;
    const std::size_t from = heads_.front().run;
    Run& run = runs_[from];
    const Item* const next = &item(run.begin);
    ++run.begin;
    const std::size_t source = run.begin < run.end ? from : run.next;
    if (source != kNoRun) {
        heads_.front() = head_of(source);
    } else {
        heads_.front() = heads_.back();
        heads_.pop_back();
    }
    if (!heads_.empty()) sift_down(0);
    return next;
}

void TimeOrder::end_merge() {
    if (!delivered_) return;
    close_gaps();
    recycle_blocks();
    const std::size_t needed = (count_ + kItemsPerChunk - 1) / kItemsPerChunk;
    const std::size_t spare = kMaxSpareBytes / (kItemsPerChunk * sizeof(Item));
    if (chunks_.size() > needed + spare) chunks_.resize(needed + spare);
    if (heads_.capacity() * sizeof(Head) > kMaxSpareBytes) heads_ = {};
    if ((runs_.capacity() - runs_.size()) * sizeof(Run) > kMaxSpareBytes) runs_.shrink_to_fit();
}

// Moves what was not delivered to the front; runs stay runs.
void TimeOrder::close_gaps() {
    std::size_t to = 0;
    std::size_t kept = 0;
    for (const Run& run : runs_) {
        if (run.begin == run.end) continue;
        const std::size_t begin = to;
        for (std::size_t i = run.begin; i < run.end; ++i) item(to++) = item(i);
        runs_[kept++] = {begin, to, kNoRun};
    }
    runs_.resize(kept);
    count_ = to;
}

// A block is in use as long as a pending item arrived while it was the one being filled.
void TimeOrder::recycle_blocks() {
    if (blocks_.empty()) return;
    for (std::size_t i = 0; i < count_; ++i) {
        const auto after = std::upper_bound(
            blocks_.begin(), blocks_.end(), item(i).sequence,
            [](std::uint64_t sequence, const CopyBlock& block) { return sequence < block.first_sequence; });
        if (after != blocks_.begin()) (after - 1)->live = true;
    }
    const bool filling = blocks_.back().live;
    std::erase_if(blocks_, [&](CopyBlock& block) {
        if (std::exchange(block.live, false)) return false;
        if (spare_blocks_.size() < kMaxSpareBytes / kBlockSize) spare_blocks_.push_back(std::move(block.bytes));
        return true;
    });
    // The block before a recycled last one is full or unknown: the next copy takes a fresh one.
    if (!filling) block_used_ = kBlockSize;
}

std::size_t TimeOrder::bytes_held() const {
    return chunks_.size() * kItemsPerChunk * sizeof(Item) + (blocks_.size() + spare_blocks_.size()) * kBlockSize +
           runs_.capacity() * sizeof(Run) + heads_.capacity() * sizeof(Head) + tails_.capacity() * sizeof(Tail);
}

}  // namespace perfvigil::collector
