// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/process_owner.hpp"

#include "base/fd.hpp"
#include "base/text.hpp"

namespace perfvigil::collector {

std::optional<ProcessOwner> parse_process_owner(std::string_view status) {
    constexpr std::string_view kKey = "Uid:";
    while (!status.empty()) {
        std::string_view line = next_piece(status, '\n');
        if (!line.starts_with(kKey)) continue;
        // Real, effective, saved, of the file system; tabs between them.
        line = trim(line.substr(kKey.size()));
        const auto real = parse_number<std::uint32_t>(next_piece(line, '\t'));
        const auto effective = parse_number<std::uint32_t>(next_piece(line, '\t'));
        if (!real || !effective) return std::nullopt;
        return ProcessOwner{.real = Uid{*real}, .effective = Uid{*effective}};
    }
    return std::nullopt;
}

std::optional<ProcessOwner> read_process_owner(const std::string& proc, Pid pid) {
    const auto status = read_file(proc + "/" + std::to_string(pid.value) + "/status");
    return status ? parse_process_owner(*status) : std::nullopt;
}

}  // namespace perfvigil::collector
