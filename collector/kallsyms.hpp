// SPDX-License-Identifier: GPL-2.0-or-later
// The text of /proc/kallsyms, line by line: "address type name" and, for what is not built in, a tab and "[module]"
// (kernel/kallsyms.c, s_show). Pure; may be fed in pieces of any size.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace perfvigil::collector {

struct KallsymsLine {
    std::uint64_t address = 0;
    char type = '?';  // as in nm(1): upper case is global
    std::string_view name;
    std::string_view module;  // without brackets; "bpf", "__builtin__ftrace", …; empty: built in
};

// nullopt where the line is no kallsyms line.
[[nodiscard]] std::optional<KallsymsLine> parse_kallsyms_line(std::string_view line);

// Cuts a stream into lines; a line over kMaxLine bytes is skipped and counted as malformed.
class KallsymsStream {
public:
    static constexpr std::size_t kMaxLine = 2048;  // KSYM_NAME_LEN is 512 since 6.1
    using Visit = std::function<void(const KallsymsLine&)>;

    explicit KallsymsStream(Visit visit) : visit_(std::move(visit)) {}
    void feed(std::string_view piece);
    void finish();  // the last line may lack its newline
    [[nodiscard]] std::uint64_t malformed() const { return malformed_; }

private:
    void take(std::string_view line);

    Visit visit_;
    std::string partial_;
    bool skipping_ = false;
    std::uint64_t malformed_ = 0;
};

// Names that mark where a section of kernel text begins or ends and lie on a function's address (vmlinux.lds.S of the
// architectures): "_text", "_etext", "__irqentry_text_start". Real functions like vmstat_start are none.
[[nodiscard]] bool is_section_marker(std::string_view name);

}  // namespace perfvigil::collector
