// SPDX-License-Identifier: GPL-2.0-or-later
// The events of a capture while it is read: the table that sinks see, and which of them wrote a given record.
// perf's rule (evlist__valid_sample_type()): with several events the id lies at the same place in the records of all.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <boost/unordered/unordered_flat_map.hpp>

#include "collector/capture_features.hpp"
#include "collector/capture_header.hpp"
#include "collector/event_table.hpp"
#include "collector/record.hpp"

namespace perfvigil::collector {

class CaptureEvents {
public:
    struct Match {
        std::uint32_t slot = 0;  // for instance() and layout(); 0: no event
        std::optional<MonotonicTime> time;
        bool unknown_id = false;  // it has an id, but none of this capture
    };

    // One event of the file, in file order. An empty name becomes perf's name for such an attr.
    void add(const StoredAttr& stored, std::string name, Endian endian);
    // The events of a capture of ours: attrs of the same event are one, CPUs and generations are known.
    void add_ours(const std::vector<StoredAttr>& attrs, const CaptureFacts& facts);

    void rename(EventId id, std::string name);  // EVENT_UPDATE
    void rename_tracepoint(std::uint64_t config, const std::string& name);
    void set_cpu(EventId id, std::size_t position, CpuId cpu);  // ID_INDEX: `position` of the event in the file
    // Several events and no id in their records: samples cannot be told apart.
    [[nodiscard]] bool ambiguous() const;

    [[nodiscard]] Match match(Bytes record, const RecordHeader& header);
    [[nodiscard]] const EventInstance* instance(std::uint32_t slot);
    [[nodiscard]] const RecordLayout& layout(std::uint32_t slot);
    // The slot of an event by its id, 0 where there is none.
    [[nodiscard]] std::uint32_t slot_of(EventId id) const;

    [[nodiscard]] const EventTable& table() const { return table_; }
    [[nodiscard]] std::size_t file_events() const { return file_layouts_.size(); }

private:
    void add_instance(EventId id, EventInstance instance);
    void refresh();

    EventTable table_;
    std::vector<RecordLayout> file_layouts_;  // one per attr of the file
    std::vector<EventIndex> file_events_;
    // Slots stay what they are; the pointers are found again when the table has changed.
    std::vector<EventId> slot_ids_{EventId{}};
    std::vector<const EventInstance*> slot_instances_{nullptr};
    boost::unordered_flat_map<EventId, std::uint32_t> slots_;
    std::uint32_t only_slot_ = 0;  // of the one event of a file that has no other
    RecordLayout no_layout_;
    bool stale_ = false;
};

}  // namespace perfvigil::collector
