// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/capture_events.hpp"

#include <algorithm>
#include <utility>

#include "collector/event_names.hpp"

namespace perfvigil::collector {
namespace {

constexpr std::uint64_t kIdBits = kSampleId | kSampleIdentifier;

EventRole role_of(const EventAttr& attr) {
    const bool dummy = attr.type == kTypeSoftware && attr.config == kSwDummy;
    return dummy ? EventRole::kSideBand : EventRole::kSampling;
}

EventInstance instance_of(EventIndex event, const EventAttr& attr, const RecordLayout& layout) {
    EventInstance instance{.event = event, .cpu = std::nullopt, .layout = layout};
    instance.nominal_period = EventInfo::nominal_period_of(attr);
    return instance;
}

// The listed event that an attr of the file belongs to when its ids do not tell.
EventIndex event_like(const EventAttr& attr, const std::vector<EventInfo>& events) {
    const auto found = std::find_if(events.begin(), events.end(), [&](const EventInfo& event) {
        return event.attr.type == attr.type && event.attr.config == attr.config;
    });
    return EventIndex{found == events.end() ? 0 : static_cast<std::uint32_t>(found - events.begin())};
}

}  // namespace

void CaptureEvents::add(const StoredAttr& stored, std::string name, Endian endian) {
    if (name.empty()) name = default_event_name(stored.attr);
    const EventIndex event = table_.add_event({std::move(name), role_of(stored.attr), stored.attr});
    const RecordLayout layout = RecordLayout::of(stored.attr, endian);
    const bool first = file_layouts_.empty();
    file_layouts_.push_back(layout);
    file_events_.push_back(event);
    for (const EventId id : stored.ids) add_instance(id, instance_of(event, stored.attr, layout));
    // Records of a file with one event are that event's, whatever id they carry.
    if (first && stored.ids.empty()) add_instance(EventId{0}, instance_of(event, stored.attr, layout));
    only_slot_ = first ? 1 : 0;
}

void CaptureEvents::add_ours(const std::vector<StoredAttr>& attrs, const CaptureFacts& facts) {
    boost::unordered_flat_map<EventId, const CaptureFacts::Instance*> known;
    for (const auto& instance : facts.instances) known.emplace(instance.id, &instance);
    for (const auto& event : facts.events) (void)table_.add_event(event);
    for (const auto& stored : attrs) {
        const RecordLayout layout = RecordLayout::of(stored.attr);
        EventIndex event = event_like(stored.attr, facts.events);
        file_layouts_.push_back(layout);
        for (const EventId id : stored.ids) {
            EventInstance instance = instance_of(event, stored.attr, layout);
            if (const auto fact = known.find(id); fact != known.end()) {
                event = fact->second->event;
                instance = {.event = event,
                            .cpu = fact->second->cpu,
                            .generation = fact->second->generation,
                            .nominal_period = fact->second->nominal_period,
                            .layout = layout,
                            .period_or_freq = fact->second->period_or_freq,
                            .max_stack = fact->second->max_stack};
            }
            add_instance(id, instance);
        }
        file_events_.push_back(event);
    }
    only_slot_ = 0;
}

void CaptureEvents::add_instance(EventId id, EventInstance instance) {
    table_.add_instance(id, std::move(instance));
    const auto slot = static_cast<std::uint32_t>(slot_ids_.size());
    if (slots_.emplace(id, slot).second) {
        slot_ids_.push_back(id);
        slot_instances_.push_back(nullptr);
    }
    stale_ = true;
}

void CaptureEvents::refresh() {
    for (std::size_t slot = 1; slot < slot_ids_.size(); ++slot) slot_instances_[slot] = table_.find(slot_ids_[slot]);
    stale_ = false;
}

void CaptureEvents::rename(EventId id, std::string name) {
    const EventInstance* known = table_.find(id);
    if (known != nullptr && !name.empty()) table_.event(known->event).name = std::move(name);
}

void CaptureEvents::rename_tracepoint(std::uint64_t config, const std::string& name) {
    for (std::uint32_t i = 0; i < table_.events().size(); ++i) {
        EventInfo& event = table_.event(EventIndex{i});
        const bool unnamed = event.name == default_event_name(event.attr);
        if (unnamed && event.attr.type == kTypeTracepoint && event.attr.config == config) event.name = name;
    }
}

void CaptureEvents::set_cpu(EventId id, std::size_t position, CpuId cpu) {
    const EventInstance* known = table_.find(id);
    EventInstance instance;
    if (known != nullptr) {
        instance = *known;
    } else if (position < file_events_.size()) {
        const EventIndex event = file_events_[position];
        instance = instance_of(event, table_.event(event).attr, file_layouts_[position]);
    } else {
        return;
    }
    instance.cpu = cpu;
    add_instance(id, instance);
}

bool CaptureEvents::ambiguous() const {
    return file_layouts_.size() > 1 && (file_layouts_.front().sample_type & kIdBits) == 0;
}

std::uint32_t CaptureEvents::slot_of(EventId id) const {
    const auto found = slots_.find(id);
    return found == slots_.end() ? 0 : found->second;
}

CaptureEvents::Match CaptureEvents::match(Bytes record, const RecordHeader& header) {
    if (file_layouts_.empty()) return {};
    RecordKey key = peek_key(record, file_layouts_.front());
    if (only_slot_ != 0) return {only_slot_, key.time, false};
    if (!key.id) return {0, key.time, false};
    const std::uint32_t slot = slot_of(*key.id);
    if (slot == 0) {
        // Records that perf composed itself carry the id 0.
        return {0, key.time, header.type == kRecordSample || key.id->value != 0};
    }
    const RecordLayout& own = layout(slot);
    if (own != file_layouts_.front()) key = peek_key(record, own);
    return {slot, key.time, false};
}

const EventInstance* CaptureEvents::instance(std::uint32_t slot) {
    if (stale_) refresh();
    return slot_instances_[slot];
}

const RecordLayout& CaptureEvents::layout(std::uint32_t slot) {
    if (const EventInstance* known = instance(slot)) return known->layout;
    return file_layouts_.empty() ? no_layout_ : file_layouts_.front();
}

}  // namespace perfvigil::collector
