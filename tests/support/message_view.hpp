// SPDX-License-Identifier: GPL-2.0-or-later
// A protobuf message taken apart by field number: what tests read exports back with.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace perfvigil::test {

// Of one gzip member; throws std::runtime_error on damage.
[[nodiscard]] std::string gunzip(std::string_view bytes);

// Throws protozero's exceptions on damage.
class MessageView {
public:
    explicit MessageView(std::string_view bytes);

    [[nodiscard]] std::uint64_t number(std::uint32_t tag) const;                // the last; 0 where there is none
    [[nodiscard]] std::string text(std::uint32_t tag) const;                    // the last; "" where there is none
    [[nodiscard]] std::vector<std::uint64_t> numbers(std::uint32_t tag) const;  // packed or not
    [[nodiscard]] std::vector<std::string> texts(std::uint32_t tag) const;
    [[nodiscard]] std::vector<MessageView> messages(std::uint32_t tag) const;

private:
    struct Field {
        std::uint32_t tag = 0;
        bool is_number = false;
        std::uint64_t number = 0;
        std::string bytes;
    };
    std::vector<Field> fields_;
};

}  // namespace perfvigil::test
