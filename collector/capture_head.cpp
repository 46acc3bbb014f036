// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/capture_head.hpp"

#include <algorithm>
#include <utility>

namespace perfvigil::collector {
namespace {

constexpr std::uint64_t kFactsFrame = 16;  // magic, size
// Room for what comes later: generations after changes of rate, CPUs that come back.
constexpr std::uint64_t kSpareFacts = 4096;
constexpr std::uint64_t kSpareAttrs = 8 * kAttrEntrySize;
constexpr std::uint64_t kSpareIds = 64 * sizeof(std::uint64_t);

std::uint64_t aligned(std::uint64_t offset) { return (offset + 7) / 8 * 8; }

}  // namespace

CaptureHead::CaptureHead(HostFacts host, const EventTable& events) : host_(std::move(host)), events_(events) {
    (void)add_all();
    // An event without instances (yet) is an attr all the same: perf lists it.
    for (std::uint32_t i = 0; i < events.events().size(); ++i) {
        const auto same = [&](const Entry& entry) { return entry.event.value == i; };
        if (std::none_of(entries_.begin(), entries_.end(), same))
            entries_.push_back({EventIndex{i}, events.event(EventIndex{i}).attr, {}});
    }
    std::stable_sort(entries_.begin(), entries_.end(),
                     [](const Entry& a, const Entry& b) { return a.event < b.event; });
}

bool CaptureHead::add(EventId id, const EventInstance& instance) {
    const auto [known, first] = known_.try_emplace(id, instances_.size());
    if (!first) return false;
    instances_.push_back({.id = id,
                          .event = instance.event,
                          .cpu = instance.cpu,
                          .generation = instance.generation,
                          .nominal_period = instance.nominal_period,
                          .period_or_freq = instance.period_or_freq,
                          .max_stack = instance.max_stack});
    EventAttr attr = events_.event(instance.event).attr;
    if (instance.period_or_freq != 0) attr.sample_period_or_freq = instance.period_or_freq;
    if (instance.max_stack != 0) attr.sample_max_stack = instance.max_stack;
    auto entry = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& candidate) {
        return candidate.event == instance.event && candidate.attr == attr;
    });
    if (entry == entries_.end()) entry = entries_.insert(entries_.end(), {instance.event, attr, {}});
    entry->ids.push_back(id);
    return true;
}

bool CaptureHead::add_all() {
    // In the order of ids: files of one recording look alike.
    std::vector<std::pair<EventId, const EventInstance*>> found;
    for (const auto& [id, instance] : events_.instances()) {
        if (!known_.contains(id)) found.emplace_back(id, &instance);
    }
    std::sort(found.begin(), found.end());
    for (const auto& [id, instance] : found) (void)add(id, *instance);
    return !found.empty();
}

CaptureFacts CaptureHead::facts(std::vector<Cut> cuts) const {
    return {.host = host_, .events = events_.events(), .instances = instances_, .cuts = std::move(cuts)};
}

std::vector<EventDescription> CaptureHead::descriptions() const {
    std::vector<EventDescription> all;
    for (const Entry& entry : entries_) all.push_back({entry.attr, events_.event(entry.event).name, entry.ids});
    return all;
}

CaptureHead::Room CaptureHead::needed(const std::vector<std::byte>& facts) const {
    Room room{.facts = facts.size(), .attrs = entries_.size() * kAttrEntrySize, .ids = 0};
    room.ids = instances_.size() * sizeof(std::uint64_t);
    return room;
}

bool CaptureHead::attrs_fit() const {
    return entries_.size() * kAttrEntrySize <= room_.attrs && instances_.size() * sizeof(std::uint64_t) <= room_.ids;
}

std::vector<std::byte> CaptureHead::first() {
    const auto facts = encode_capture_facts(this->facts({}));
    const Room now = needed(facts);
    room_ = {
        .facts = now.facts * 2 + kSpareFacts, .attrs = now.attrs * 2 + kSpareAttrs, .ids = now.ids * 2 + kSpareIds};
    attrs_offset_ = aligned(kHeadFactsOffset + kFactsFrame + room_.facts);
    ids_offset_ = attrs_offset_ + room_.attrs;
    data_offset_ = ids_offset_ + room_.ids;
    return compose({}, facts, true);
}

std::optional<std::vector<std::byte>> CaptureHead::current() const {
    const auto facts = encode_capture_facts(this->facts({}));
    if (facts.size() > room_.facts || !attrs_fit()) return std::nullopt;
    return compose({}, facts, true);
}

std::vector<std::byte> CaptureHead::final(CaptureHeader header, std::uint64_t tail_offset,
                                          std::vector<std::byte>& tail) const {
    const auto facts = encode_capture_facts(this->facts({}));
    const auto& kept = facts.size() <= room_.facts ? facts : std::vector<std::byte>();
    if (attrs_fit()) return compose(header, kept, true);
    header.attrs.offset = tail_offset + tail.size();
    const std::uint64_t ids_offset = header.attrs.offset + entries_.size() * kAttrEntrySize;
    append_attrs_and_ids(header.attrs.offset, ids_offset, tail_offset, tail);
    return compose(header, kept, false);
}

// `out` will lie at `start` in the file.
void CaptureHead::append_attrs_and_ids(std::uint64_t attrs_offset, std::uint64_t ids_offset, std::uint64_t start,
                                       std::vector<std::byte>& out) const {
    ByteWriter to(out);
    to.zeros(attrs_offset - start - out.size());
    std::uint64_t at = ids_offset;
    for (const Entry& entry : entries_) {
        const FileSection ids{at, entry.ids.size() * sizeof(std::uint64_t)};
        append_attr_entry(entry.attr, ids, out);
        at += ids.size;
    }
    to.zeros(ids_offset - start - out.size());
    for (const Entry& entry : entries_) {
        for (const EventId id : entry.ids) to.u64(id.value);
    }
}

std::vector<std::byte> CaptureHead::compose(CaptureHeader header, const std::vector<std::byte>& facts,
                                            bool with_attrs) const {
    header.attr_size = kAttrEntrySize;
    header.attrs.size = entries_.size() * kAttrEntrySize;
    if (with_attrs) header.attrs.offset = attrs_offset_;
    header.data.offset = data_offset_;
    std::vector<std::byte> out;
    append_capture_header(header, out);
    if (!facts.empty()) {
        ByteWriter to(out);
        to.u64(kHeadFactsMagic);
        to.u64(facts.size());
        to.bytes(facts);
    }
    if (with_attrs) append_attrs_and_ids(attrs_offset_, ids_offset_, 0, out);
    out.resize(data_offset_);
    return out;
}

}  // namespace perfvigil::collector
