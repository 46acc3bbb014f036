// SPDX-License-Identifier: GPL-2.0-or-later
// Rows of /proc/stat as differences to the row of the same CPU that went before (docs/host-facts.proto, CpuTimes).
// Encoder and decoder keep the same memory.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include <boost/unordered/unordered_flat_map.hpp>

#include "collector/stream.hpp"

namespace perfvigil::collector {

class CpuTimesCodec {
public:
    [[nodiscard]] std::vector<std::int64_t> encode(const std::vector<CpuTimes>& rows) {
        std::vector<std::int64_t> out;
        out.reserve(rows.size() * kNumbersPerRow);
        for (CpuTimes row : rows) {
            CpuTimes& before = before_[row.cpu];
            out.push_back(row.cpu.value);
            const auto now = numbers_of(row);
            const auto then = numbers_of(before);
            for (std::size_t i = 0; i < now.size(); ++i) out.push_back(static_cast<std::int64_t>(*now[i] - *then[i]));
            before = row;
        }
        return out;
    }

    [[nodiscard]] std::vector<CpuTimes> decode(const std::vector<std::int64_t>& numbers) {
        std::vector<CpuTimes> rows;
        for (std::size_t at = 0; at + kNumbersPerRow <= numbers.size(); at += kNumbersPerRow) {
            const CpuId cpu{static_cast<std::uint32_t>(numbers[at])};
            CpuTimes& row = before_[cpu];
            row.cpu = cpu;
            const auto fields = numbers_of(row);
            for (std::size_t i = 0; i < fields.size(); ++i)
                *fields[i] += static_cast<std::uint64_t>(numbers[at + 1 + i]);
            rows.push_back(row);
        }
        return rows;
    }

private:
    static constexpr std::size_t kNumbersPerRow = 8;  // the CPU, then numbers_of()
    static std::array<std::uint64_t*, kNumbersPerRow - 1> numbers_of(CpuTimes& row) {
        return {&row.user, &row.system, &row.idle, &row.iowait, &row.irq, &row.softirq, &row.steal};
    }

    boost::unordered_flat_map<CpuId, CpuTimes> before_;
};

}  // namespace perfvigil::collector
