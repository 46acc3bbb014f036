// SPDX-License-Identifier: GPL-2.0-or-later
// The head of a capture of ours: file header, capture facts, attrs, ids, and room for the events that come while it is
// open. Everything that explains the records stands before them, so a file whose recorder was killed can be read.
//
//   header │ "PVHEAD01" facts … │ attrs … │ ids … │ data
//
// perf reads one layout and one rate per attr: a generation of other rate gets an attr of its own, with the same name.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <boost/unordered/unordered_flat_map.hpp>

#include "collector/capture_facts.hpp"
#include "collector/capture_features.hpp"
#include "collector/capture_header.hpp"
#include "collector/event_table.hpp"

namespace perfvigil::collector {

class CaptureHead {
public:
    // Takes the host's facts and every instance that `events` has now.
    CaptureHead(HostFacts host, const EventTable& events);

    // Makes sure that the instance is among the ids; false: it was. The event is looked up in the table.
    bool add(EventId id, const EventInstance& instance);
    // … every instance of the table; false: all of them were.
    bool add_all();

    // The head as it is at the start, with room behind each part. Its size is the data's offset.
    [[nodiscard]] std::vector<std::byte> first();
    // The head as it is now; nullopt where it outgrew its room.
    [[nodiscard]] std::optional<std::vector<std::byte>> current() const;
    // The head of a whole file. Attrs and ids that outgrew their room are appended to `tail`, which will lie at
    // `tail_offset`.
    [[nodiscard]] std::vector<std::byte> final(CaptureHeader header, std::uint64_t tail_offset,
                                               std::vector<std::byte>& tail) const;

    [[nodiscard]] std::uint64_t data_offset() const { return data_offset_; }
    [[nodiscard]] std::vector<EventDescription> descriptions() const;
    [[nodiscard]] CaptureFacts facts(std::vector<Cut> cuts) const;
    [[nodiscard]] HostFacts& host() { return host_; }
    [[nodiscard]] const HostFacts& host() const { return host_; }

private:
    struct Entry {  // of the attrs section
        EventIndex event{};
        EventAttr attr;
        std::vector<EventId> ids;
    };
    struct Room {
        std::uint64_t facts = 0;
        std::uint64_t attrs = 0;
        std::uint64_t ids = 0;
    };
    [[nodiscard]] Room needed(const std::vector<std::byte>& facts) const;
    [[nodiscard]] bool attrs_fit() const;
    void append_attrs_and_ids(std::uint64_t attrs_offset, std::uint64_t ids_offset, std::uint64_t start,
                              std::vector<std::byte>& out) const;
    [[nodiscard]] std::vector<std::byte> compose(CaptureHeader header, const std::vector<std::byte>& facts,
                                                 bool with_attrs) const;

    HostFacts host_;
    const EventTable& events_;
    std::vector<Entry> entries_;
    std::vector<CaptureFacts::Instance> instances_;
    boost::unordered_flat_map<EventId, std::size_t> known_;  // to instances_
    Room room_;
    std::uint64_t attrs_offset_ = 0;
    std::uint64_t ids_offset_ = 0;
    std::uint64_t data_offset_ = 0;
};

}  // namespace perfvigil::collector
