// SPDX-License-Identifier: GPL-2.0-or-later
// perf.data files as other recorders write them, composed part by part and in either byte order.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.hpp"
#include "collector/event_attr.hpp"
#include "collector/record.hpp"

namespace perfvigil::test {

class ForeignCapture {
public:
    explicit ForeignCapture(Endian endian = Endian::kNative) : endian_(endian) {}

    struct Event {
        collector::EventAttr attr;
        std::vector<std::uint64_t> ids;
        std::string name;
    };
    void add_event(Event event) { events_.push_back(std::move(event)); }
    void add_record(const std::vector<std::byte>& record) { data.insert(data.end(), record.begin(), record.end()); }
    // A record of perf's user space: header and payload (numbers in file order are the caller's).
    void add_user_record(std::uint32_t type, const std::vector<std::byte>& payload);
    void add_round() { add_user_record(collector::kRecordFinishedRound, {}); }
    void add_feature(unsigned bit, std::vector<std::byte> content) { features_[bit] = std::move(content); }
    void add_names();  // EVENT_DESC

    // attr_size: of an entry without the ids' section.
    [[nodiscard]] std::vector<std::byte> file(std::uint64_t attr_size = 112) const;
    [[nodiscard]] std::vector<std::byte> version1_file() const;
    // Attrs as records.
    [[nodiscard]] std::vector<std::byte> pipe() const;

    // Numbers in the file's order.
    [[nodiscard]] std::vector<std::byte> u64s(std::initializer_list<std::uint64_t> numbers) const;
    [[nodiscard]] std::vector<std::byte> u32s(std::initializer_list<std::uint32_t> numbers) const;
    [[nodiscard]] std::vector<std::byte> text(std::string_view text, std::size_t size) const;

    std::vector<std::byte> data;

private:
    [[nodiscard]] std::vector<std::byte> attr_bytes(const collector::EventAttr& attr, std::uint64_t size) const;
    void append(std::vector<std::byte>& out, const std::vector<std::byte>& more) const {
        out.insert(out.end(), more.begin(), more.end());
    }

    Endian endian_;
    std::vector<Event> events_;
    std::map<unsigned, std::vector<std::byte>> features_;
};

}  // namespace perfvigil::test
