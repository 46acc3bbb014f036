// SPDX-License-Identifier: GPL-2.0-or-later
// Puts records of several rings into one order of time. Each ring is nearly sorted (an NMI may go back a little);
// rings among each other are not. Knows bytes and times, nothing of events.
//
// What arrives falls into runs that are already in order; runs that continue each other form a chain (as a rule one
// per ring), and delivering is a merge of the chains: n log(rings), nothing is moved and nothing copied for sorting.
//
//   arrival   a1 a2 a3 | b1 b2 | a4 a5 | b3 …       runs
//   chains    a1 a2 a3 ▶ a4 a5     b1 b2 ▶ b3       merged by a heap of chain heads
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/bytes.hpp"
#include "base/time.hpp"

namespace perfvigil::collector {

class TimeOrder {
public:
    struct Item {
        MonotonicTime time{};
        std::uint64_t sequence = 0;  // arrival; breaks ties
        const std::byte* data = nullptr;
        std::uint32_t size = 0;
        std::uint32_t tag = 0;  // the caller's: which ring or layout

        [[nodiscard]] Bytes bytes() const { return {data, size}; }
    };

    // The bytes stay where they are (a mapped file) and must outlive their delivery.
    void push_view(MonotonicTime time, Bytes record, std::uint32_t tag);
    // The bytes are copied (a ring that will be overwritten). At most kBlockSize.
    void push_copy(MonotonicTime time, Bytes record, std::uint32_t tag);

    // Delivers every record with time < limit in order of (time, arrival); `deliver` takes a const Item& and must not
    // push. What remains is kept; memory of delivered copies is reused, so a steady stream allocates nothing.
    template <class Deliver>
    void flush_before(MonotonicTime limit, Deliver&& deliver) {
        if (limit != MonotonicTime::min()) flush_through(limit - Nanoseconds(1), deliver);
    }
    template <class Deliver>
    void flush_all(Deliver&& deliver) {
        flush_through(MonotonicTime::max(), deliver);
    }

    [[nodiscard]] std::size_t pending() const { return count_; }
    // Memory in use and in reserve, copies included.
    [[nodiscard]] std::size_t bytes_held() const;

    static constexpr std::size_t kBlockSize = 256U << 10;

private:
    static constexpr std::size_t kItemsPerChunk = 2048;
    using Chunk = std::unique_ptr<Item[]>;
    using Block = std::unique_ptr<std::byte[]>;

    // items [begin, end) in order of (time, sequence).
    struct Run {
        std::size_t begin = 0;
        std::size_t end = 0;
        std::size_t next = 0;  // the run that continues this one, kNoRun at a chain's end; set by begin_merge()
    };
    struct Head {  // the next item of a chain
        MonotonicTime time{};
        std::uint64_t sequence = 0;
        std::size_t run = 0;

        [[nodiscard]] bool before(const Head& other) const {
            return time != other.time ? time < other.time : sequence < other.sequence;
        }
    };
    struct Tail {  // where a chain can be continued
        MonotonicTime time{};
        std::size_t run = 0;
    };
    struct CopyBlock {
        Block bytes;
        std::uint64_t first_sequence = 0;  // the first item whose bytes may lie here
        bool live = false;
    };

    template <class Deliver>
    void flush_through(MonotonicTime last, Deliver& deliver) {
        begin_merge();
        while (const Item* item = next_through(last)) deliver(*item);
        end_merge();
    }

    [[nodiscard]] Item& item(std::size_t i) { return chunks_[i / kItemsPerChunk][i % kItemsPerChunk]; }
    void append(Item added);
    [[nodiscard]] std::size_t place_in_last_run(MonotonicTime time);
    void begin_merge();
    void link_runs();
    [[nodiscard]] Head head_of(std::size_t run);
    void sift_down(std::size_t at);
    [[nodiscard]] const Item* next_through(MonotonicTime last);
    void end_merge();
    void close_gaps();
    void recycle_blocks();

    std::vector<Chunk> chunks_;  // items in order of arrival; more may be allocated than count_ needs
    std::size_t count_ = 0;
    std::uint64_t next_sequence_ = 0;
    std::vector<Run> runs_;    // cover the items, in order of position
    std::vector<Head> heads_;  // heap, least on top; used within a flush
    std::vector<Tail> tails_;  // by time; used within begin_merge()
    bool delivered_ = false;

    std::vector<CopyBlock> blocks_;  // in order of arrival; the last one is being filled
    std::vector<Block> spare_blocks_;
    std::size_t block_used_ = 0;  // bytes of the last block
};

}  // namespace perfvigil::collector
