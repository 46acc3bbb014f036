// SPDX-License-Identifier: GPL-2.0-or-later
// .eh_frame and .debug_frame sections made entry by entry, so that a test decides what each says.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/symbols/child/unwind_entries.hpp"
#include "base/bytes.hpp"

namespace perfvigil::test {

// Instructions or operations, written as numbers; helpers append their operands.
class CfaProgram {
public:
    CfaProgram(std::initializer_list<int> bytes = {}) {
        for (const int byte : bytes) bytes_.push_back(static_cast<std::byte>(byte));
    }
    CfaProgram& advance(std::uint8_t by) { return add({0x02, by}); }
    CfaProgram& cfa(std::uint8_t reg, std::uint8_t offset) { return add({0x0c, reg, offset}); }
    CfaProgram& cfa_offset(std::uint8_t offset) { return add({0x0e, offset}); }
    CfaProgram& saved(std::uint8_t reg, std::uint8_t factored) { return add({0x80 | reg, factored}); }
    CfaProgram& add(std::initializer_list<int> bytes) {
        for (const int byte : bytes) bytes_.push_back(static_cast<std::byte>(byte));
        return *this;
    }
    CfaProgram& add(const CfaProgram& other) {
        bytes_.insert(bytes_.end(), other.bytes_.begin(), other.bytes_.end());
        return *this;
    }
    [[nodiscard]] Bytes bytes() const { return bytes_; }

private:
    std::vector<std::byte> bytes_;
};

// What gcc writes first for x86-64: CFA = rsp + 8, return address at CFA − 8.
[[nodiscard]] inline CfaProgram x86_start() { return CfaProgram().cfa(7, 8).saved(16, 1); }

class FrameSectionMaker {
public:
    struct Terms {
        std::string augmentation = "zR";
        std::uint8_t version = 1;
        std::uint8_t code_factor = 1;
        std::uint8_t data_factor = 0x78;  // −8
        std::uint8_t return_column = 16;
        std::vector<std::uint8_t> augmentation_data{0x1b};  // relative, four bytes with a sign
        CfaProgram instructions = x86_start();
        bool wide = false;
    };

    explicit FrameSectionMaker(analyzer::FrameSectionKind kind, std::uint64_t address = 0x500000)
        : kind_(kind), address_(address) {}

    // Its position, to be given to entry().
    std::uint64_t terms(const Terms& terms) {
        const std::uint64_t position = bytes_.size();
        begin(terms.wide);
        if (kind_ == analyzer::FrameSectionKind::kEhFrame)
            writer().u32(0);
        else if (terms.wide)
            writer().u64(UINT64_MAX);
        else
            writer().u32(UINT32_MAX);
        writer().u8(terms.version);
        writer().text(terms.augmentation);
        writer().u8(0);
        if (terms.version == 4) {
            writer().u8(8);
            writer().u8(0);
        }
        writer().u8(terms.code_factor);
        writer().u8(terms.data_factor);
        writer().u8(terms.return_column);
        if (terms.augmentation.starts_with('z')) {
            writer().u8(static_cast<std::uint8_t>(terms.augmentation_data.size()));
            for (const std::uint8_t byte : terms.augmentation_data) writer().u8(byte);
        }
        writer().bytes(terms.instructions.bytes());
        end(terms.wide);
        return position;
    }

    // For terms with the encoding 0x1b, or of .debug_frame with absolute addresses.
    void entry(std::uint64_t terms, std::uint64_t start, std::uint64_t size, const CfaProgram& instructions,
               bool augmented = true) {
        begin(false);
        const std::uint64_t here = bytes_.size();
        if (kind_ == analyzer::FrameSectionKind::kEhFrame) {
            writer().u32(static_cast<std::uint32_t>(here - terms));
            writer().i32(static_cast<std::int32_t>(start - (address_ + here + 4)));
            writer().u32(static_cast<std::uint32_t>(size));
            if (augmented) writer().u8(0);
        } else {
            writer().u32(static_cast<std::uint32_t>(terms));
            writer().u64(start);
            writer().u64(size);
        }
        writer().bytes(instructions.bytes());
        end(false);
    }

    void zero() { writer().u32(0); }
    [[nodiscard]] ByteWriter writer() { return ByteWriter(bytes_); }
    [[nodiscard]] const std::vector<std::byte>& bytes() const { return bytes_; }
    [[nodiscard]] analyzer::FrameSection section() const {
        return {.kind = kind_, .bytes = bytes_, .address = address_};
    }

private:
    void begin(bool wide) {
        if (wide) {
            writer().u32(UINT32_MAX);
            writer().u64(0);
        } else {
            writer().u32(0);
        }
        content_ = bytes_.size();
    }
    void end(bool wide) {
        while (bytes_.size() % 4 != 0) writer().u8(0);
        const std::uint64_t length = bytes_.size() - content_;
        if (wide)
            writer().patch<std::uint64_t>(content_ - 8, length);
        else
            writer().patch<std::uint32_t>(content_ - 4, static_cast<std::uint32_t>(length));
    }

    analyzer::FrameSectionKind kind_;
    std::uint64_t address_;
    std::size_t content_ = 0;
    std::vector<std::byte> bytes_;
};

}  // namespace perfvigil::test
