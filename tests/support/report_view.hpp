// SPDX-License-Identifier: GPL-2.0-or-later
// Reports as their readers get them: JSON from `perfvigil … --json`, with the look-ups that tests need.
#pragma once

#include <boost/json.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace perfvigil::test {

// Standard output of a program that must succeed; throws std::runtime_error otherwise.
[[nodiscard]] std::string output_of(const std::string& program, std::vector<std::string> arguments);

class ReportView {
public:
    explicit ReportView(std::string_view text);
    // Of `perfvigil ARGUMENTS…`.
    [[nodiscard]] static ReportView of_perfvigil(std::vector<std::string> arguments);

    [[nodiscard]] const boost::json::object& root() const { return root_; }
    [[nodiscard]] const boost::json::object& event(std::string_view name) const;
    // 0 where the event has no such function. `field`: "self_samples", "total_samples", …
    [[nodiscard]] std::uint64_t function(std::string_view event, std::string_view symbol, std::string_view field) const;

    struct Cpu {
        std::uint64_t samples = 0;
        std::uint64_t idle_samples = 0;
        std::uint64_t lost = 0;
        double ticks_due = 0;
        double seconds = 0;
        double busy = 0;
    };
    [[nodiscard]] Cpu cpu(unsigned number) const;
    // Seconds of one term of one CPU's ledger.
    [[nodiscard]] double ledger(unsigned cpu, std::string_view term) const;
    [[nodiscard]] std::vector<unsigned> cpus() const;
    [[nodiscard]] bool degraded(std::string_view reason) const;

private:
    [[nodiscard]] const boost::json::object& row(std::string_view list, unsigned cpu) const;
    boost::json::object root_;
};

}  // namespace perfvigil::test
