// SPDX-License-Identifier: GPL-2.0-or-later
// A jitdump file made of records, as a runtime would write it.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/bytes.hpp"

namespace perfvigil::test {

class JitDumpBytes {
public:
    explicit JitDumpBytes(std::uint32_t pid = 42, std::uint64_t flags = 0, std::uint32_t version = 1) {
        out_.u32(0x4A695444);
        out_.u32(version);
        out_.u32(40);
        out_.u32(62);  // EM_X86_64
        out_.u32(0);
        out_.u32(pid);
        out_.u64(1);
        out_.u64(flags);
    }

    JitDumpBytes& load(std::uint64_t time, std::uint64_t address, std::uint64_t size, std::uint64_t index,
                       std::string_view name) {
        begin(0, 40 + name.size() + 1 + size, time);
        out_.u64(std::uint64_t{42} | (std::uint64_t{42} << 32U));
        out_.u64(address);
        out_.u64(address);
        out_.u64(size);
        out_.u64(index);
        out_.text(name);
        out_.zeros(1 + size);
        return *this;
    }
    JitDumpBytes& move(std::uint64_t time, std::uint64_t from, std::uint64_t to, std::uint64_t size,
                       std::uint64_t index) {
        begin(1, 48, time);
        out_.u64(0);
        out_.u64(to);
        out_.u64(from);
        out_.u64(to);
        out_.u64(size);
        out_.u64(index);
        return *this;
    }
    // A record of any kind, its inside zero.
    JitDumpBytes& other(std::uint32_t id, std::size_t inside, std::uint64_t time) {
        begin(id, inside, time);
        out_.zeros(inside);
        return *this;
    }

    [[nodiscard]] const std::vector<std::byte>& bytes() const { return bytes_; }
    [[nodiscard]] std::vector<std::byte>& bytes() { return bytes_; }

private:
    void begin(std::uint32_t id, std::size_t inside, std::uint64_t time) {
        out_.u32(id);
        out_.u32(static_cast<std::uint32_t>(16 + inside));
        out_.u64(time);
    }

    std::vector<std::byte> bytes_;
    ByteWriter out_{bytes_};
};

}  // namespace perfvigil::test
