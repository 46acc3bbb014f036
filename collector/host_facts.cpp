// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/host_facts.hpp"

#include <fcntl.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include <fmt/core.h>

#include "base/fd.hpp"
#include "base/text.hpp"
#include "collector/host_settings.hpp"
#include "collector/kernel_config.hpp"

namespace perfvigil::collector {
namespace {

std::string text_or_empty(const std::string& path) {
    auto text = read_file(path);
    return text ? std::string(trim(*text)) : std::string();
}

// The value of the first line "key<blanks>: value"; empty where there is none.
std::string_view cpuinfo_value(std::string_view cpuinfo, std::string_view key) {
    while (!cpuinfo.empty()) {
        std::string_view line = next_piece(cpuinfo, '\n');
        const std::string_view name = trim(next_piece(line, ':'));
        if (name == key) return trim(line);
    }
    return {};
}

std::string describe_cpu(std::string_view cpuinfo) {
    for (const std::string_view key : {"model name", "Processor", "cpu", "uarch"}) {
        if (const auto value = cpuinfo_value(cpuinfo, key); !value.empty()) return std::string(value);
    }
    const auto implementer = cpuinfo_value(cpuinfo, "CPU implementer");
    if (implementer.empty()) return {};
    return fmt::format("CPU implementer {} part {}", implementer, cpuinfo_value(cpuinfo, "CPU part"));
}

// tools/perf/arch/x86/util/header.c, arch/arm64/util/header.c.
std::string read_cpuid(std::string_view cpuinfo, const std::string& root) {
    if (const auto vendor = cpuinfo_value(cpuinfo, "vendor_id"); !vendor.empty()) {
        return fmt::format("{},{},{},{}", vendor, cpuinfo_value(cpuinfo, "cpu family"), cpuinfo_value(cpuinfo, "model"),
                           cpuinfo_value(cpuinfo, "stepping"));
    }
    const auto text = text_or_empty(root + "/sys/devices/system/cpu/cpu0/regs/identification/midr_el1");
    if (!text.starts_with("0x")) return {};
    const auto midr = parse_number<std::uint64_t>(std::string_view(text).substr(2), 16);
    constexpr std::uint64_t kVariantAndRevision = 0xf0000fU;
    return midr ? fmt::format("{:#018x}", *midr & ~kVariantAndRevision) : std::string();
}

std::uint64_t total_memory_kib(std::string_view meminfo) {
    std::string_view value = cpuinfo_value(meminfo, "MemTotal");
    return parse_number<std::uint64_t>(next_piece(value, ' ')).value_or(0);
}

std::uint32_t count_cpus(const std::string& path) {
    const auto list = parse_cpu_list(text_or_empty(path));
    return list ? static_cast<std::uint32_t>(list->size()) : 0;
}

BuildId build_id_of_notes_file(const std::string& path) {
    const auto notes = read_file(path, 1U << 20);
    return notes ? build_id_from_notes(std::as_bytes(std::span(*notes))) : BuildId();
}

std::vector<std::pair<std::string, std::string>> read_vulnerabilities(const std::string& folder) {
    std::vector<std::pair<std::string, std::string>> found;
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
        found.emplace_back(entry.path().filename(), text_or_empty(entry.path()));
    }
    std::sort(found.begin(), found.end());
    return found;
}

struct KernelText {
    std::uint64_t text = 0;
    std::uint64_t stext = 0;
    std::uint64_t etext = 0;

    [[nodiscard]] bool complete() const { return text != 0 && stext != 0 && etext != 0; }
    void look_at(std::string_view line) {
        const std::string_view address = next_piece(line, ' ');
        (void)next_piece(line, ' ');
        std::uint64_t* wanted = line == "_text"    ? &text
                                : line == "_stext" ? &stext
                                : line == "_etext" ? &etext
                                                   : nullptr;
        if (wanted != nullptr) *wanted = parse_number<std::uint64_t>(address, 16).value_or(0);
    }
};

// Stops at the third symbol: the kernel composes each line when it is read, and most of them lie behind.
KernelText find_kernel_text(const std::string& kallsyms) {
    KernelText found;
    auto fd = open_file(kallsyms, O_RDONLY);
    if (!fd) return found;
    std::array<char, 65536> block;
    std::string carried;
    while (!found.complete()) {
        const ssize_t n = ::read(fd->get(), block.data(), block.size());
        if (n <= 0) break;
        carried.append(block.data(), static_cast<std::size_t>(n));
        const std::size_t whole = carried.rfind('\n') + 1;  // 0 where there is no line end
        std::string_view lines = std::string_view(carried).substr(0, whole);
        while (!lines.empty()) found.look_at(next_piece(lines, '\n'));
        carried.erase(0, whole);
    }
    return found;
}

void read_kernel_text(HostFacts& facts, const std::string& root) {
    const auto found = find_kernel_text(root + "/proc/kallsyms");
    facts.kernel_start = found.text != 0 ? found.text : found.stext;
    if (found.text == 0 && found.stext != 0) facts.kernel_reference = "_stext";
    facts.kernel_end = found.etext;
}

void read_uname(HostFacts& facts) {
    utsname name{};
    if (::uname(&name) != 0) return;
    facts.hostname = name.nodename;
    facts.os_release = name.release;
    facts.os_version = name.version;
    facts.architecture = name.machine;
}

}  // namespace

HostFacts read_host_facts(const Clock& clock, const std::string& root) {
    HostFacts facts;
    facts.monotonic_reference = clock.monotonic();
    facts.wall_reference = clock.wall();
    facts.version = std::string("perfvigil ") + PERFVIGIL_VERSION;
    read_uname(facts);
    const std::string cpuinfo = text_or_empty(root + "/proc/cpuinfo");
    facts.cpu_description = describe_cpu(cpuinfo);
    facts.cpuid = read_cpuid(cpuinfo, root);
    facts.total_memory_kib = total_memory_kib(text_or_empty(root + "/proc/meminfo"));
    facts.cpus_online = count_cpus(root + "/sys/devices/system/cpu/online");
    facts.cpus_present = count_cpus(root + "/sys/devices/system/cpu/present");
    facts.kernel_command_line = text_or_empty(root + "/proc/cmdline");
    facts.vulnerabilities = read_vulnerabilities(root + "/sys/devices/system/cpu/vulnerabilities");
    facts.kernel_config = read_kernel_config(root, facts.os_release);
    facts.settings = read_host_settings(root, cpuinfo);
    facts.kernel_build_id = build_id_of_notes_file(root + "/sys/kernel/notes");
    read_kernel_text(facts, root);
    facts.modules = read_kernel_modules(root, facts.os_release);
    return facts;
}

}  // namespace perfvigil::collector
