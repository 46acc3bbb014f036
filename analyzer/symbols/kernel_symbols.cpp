// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/symbols/kernel_symbols.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <limits>

#include <boost/unordered/unordered_flat_map.hpp>

#include "base/fd.hpp"
#include "base/text.hpp"
#include "collector/kallsyms.hpp"

namespace perfvigil::analyzer {

using collector::is_section_marker;
using collector::KallsymsLine;
using collector::KallsymsStream;

namespace {

constexpr std::uint64_t kPage = 4096;
constexpr std::uint64_t kMaxPadding = 256;  // CONFIG_FUNCTION_PADDING_BYTES is 59 at most
constexpr std::size_t kMaxSymbols = 4U << 20;
constexpr std::size_t kUsualSymbols = 256U << 10;
constexpr std::size_t kMaxNameBytes = 512U << 20;

std::string display_module(std::string_view module) {
    // kernel/kallsyms.c calls its pseudo modules __builtin__ftrace and __builtin__kprobes.
    constexpr std::string_view kBuiltin = "__builtin__";
    if (module.starts_with(kBuiltin)) module.remove_prefix(kBuiltin.size());
    return '[' + escape(module) + ']';
}

std::uint64_t page_after(std::uint64_t address) { return (address / kPage + 2) * kPage; }

}  // namespace

// Collects lines in any order, then makes disjoint ranges of them.
class KernelSymbolsBuilder {
public:
    KernelSymbolsBuilder() {
        symbols_.modules_.emplace_back("[kernel.kallsyms]");
        // As much as most kernels need: what is not used of it is never touched.
        raws_.reserve(kUsualSymbols);
        symbols_.names_.reserve(kUsualSymbols * 24);
    }

    void add(const KallsymsLine& line) {
        any_address_ = any_address_ || line.address != 0;
        ++lines_;
        if (line.module.empty()) note_bounds(line);
        if (line.address == 0 || lines_ > kMaxSymbols) return;
        const bool code = line.type == 'T' || line.type == 't' || line.type == 'W' || line.type == 'w';
        // Any built-in marker bounds the text before it, whatever its type.
        const bool marker = line.module.empty() && is_section_marker(line.name);
        if (!code && !marker) return;
        Raw raw;
        raw.address = line.address;
        raw.module = module_of(line.module);
        raw.weak = line.type == 'W' || line.type == 'w';
        raw.local = line.type == 't';
        if (marker)
            raw.kind = Kind::kMarker;
        else if (line.name.starts_with("__pfx_") || line.name.starts_with("__cfi_"))
            raw.kind = Kind::kPadding;
        else
            keep_name(line.name, raw);
        raws_.push_back(raw);
    }

    KernelSymbols build(std::uint64_t malformed) && {
        symbols_.malformed_ = malformed;
        symbols_.hidden_ = lines_ > 0 && !any_address_;
        sort();
        symbols_.entries_.reserve(raws_.size());
        for (std::size_t i = 0; i < raws_.size();) {
            const auto next = next_address(i);
            make_entry(i, next);
            i = next;
        }
        symbols_.entries_.shrink_to_fit();
        symbols_.names_.shrink_to_fit();
        return std::move(symbols_);
    }

private:
    enum class Kind : std::uint8_t { kFunction, kPadding, kMarker };
    struct Raw {
        std::uint64_t address = 0;
        std::uint32_t name = 0;
        std::uint16_t name_size = 0;
        std::uint16_t module = 0;
        Kind kind = Kind::kFunction;
        bool weak = false;
        bool local = false;
    };

    void note_bounds(const KallsymsLine& line) {
        if (line.name == "_text")
            symbols_.text_ = line.address;
        else if (line.name == "_stext")
            symbols_.stext_ = line.address;
        else if (line.name == "_etext")
            symbols_.etext_ = line.address;
    }

    std::uint16_t module_of(std::string_view module) {
        if (module.empty()) return 0;
        // kallsyms lists one module after the other.
        if (module == last_module_) return last_module_index_;
        last_module_ = module;
        auto& modules = symbols_.modules_;
        const auto known = module_index_.find(last_module_);
        if (known != module_index_.end()) {
            last_module_index_ = known->second;
        } else if (modules.size() < std::numeric_limits<std::uint16_t>::max()) {
            last_module_index_ = static_cast<std::uint16_t>(modules.size());
            modules.push_back(display_module(module));
            module_index_.emplace(last_module_, last_module_index_);
        } else {
            modules.back() = "[module]";
            last_module_index_ = static_cast<std::uint16_t>(modules.size() - 1);
        }
        return last_module_index_;
    }

    void keep_name(std::string_view name, Raw& raw) {
        if (symbols_.names_.size() > kMaxNameBytes) return;
        raw.name = static_cast<std::uint32_t>(symbols_.names_.size());
        raw.name_size = static_cast<std::uint16_t>(name.size());  // KallsymsStream::kMaxLine bounds it
        symbols_.names_ += name;
    }
    [[nodiscard]] std::string_view name_of(const Raw& raw) const {
        return std::string_view(symbols_.names_).substr(raw.name, raw.name_size);
    }

    // Names that the build gives to functions in addition: position-independent copies' and other ABIs' entries.
    [[nodiscard]] static bool second_name(std::string_view name) {
        return name.starts_with("__pi_") || name.starts_with("__ia32_");
    }

    // By address; at one address the symbol to show first: not weak, global, fewer leading underscores, longer (perf's
    // choose_best_symbol). perf 6.1 means the same, but has given sizes before it compares, and so shows the last one.
    [[nodiscard]] bool before(const Raw& a, const Raw& b) const {
        if (a.address != b.address) return a.address < b.address;
        if (a.kind != b.kind) return a.kind < b.kind;
        if (a.weak != b.weak) return b.weak;
        if (a.local != b.local) return b.local;
        const auto name_a = name_of(a);
        const auto name_b = name_of(b);
        if (second_name(name_a) != second_name(name_b)) return second_name(name_b);
        const auto underscores_a = name_a.find_first_not_of('_');
        const auto underscores_b = name_b.find_first_not_of('_');
        if (underscores_a != underscores_b) return underscores_a < underscores_b;
        return name_a.size() != name_b.size() ? name_a.size() > name_b.size() : name_a < name_b;
    }

    // The kernel's own symbols come in order of address, modules' in any, nearly always behind them.
    void sort() {
        const auto in_order = [&](const Raw& a, const Raw& b) { return before(a, b); };
        const auto modules = std::ranges::is_sorted_until(raws_, {}, &Raw::address);
        for (auto first = raws_.begin(); first != modules;) {
            const auto last =
                std::find_if(first, modules, [&](const Raw& raw) { return raw.address != first->address; });
            if (last - first > 1) std::sort(first, last, in_order);
            first = last;
        }
        std::sort(modules, raws_.end(), in_order);
        if (modules == raws_.begin() || modules == raws_.end() || in_order(*std::prev(modules), *modules)) return;
        std::inplace_merge(raws_.begin(), modules, raws_.end(), in_order);
    }

    [[nodiscard]] std::size_t next_address(std::size_t i) const {
        auto next = i + 1;
        while (next < raws_.size() && raws_[next].address == raws_[i].address) ++next;
        return next;
    }

    // From the best symbol at its address, raws_[i], and the first one behind that address, raws_[next].
    void make_entry(std::size_t i, std::size_t next) {
        const Raw& raw = raws_[i];
        if (raw.kind == Kind::kPadding) {
            if (!padding_from_) padding_from_ = raw.address;
            return;
        }
        const auto padding = raw.address - padding_from_.value_or(raw.address);
        padding_from_.reset();
        if (raw.kind == Kind::kMarker) return;
        const auto end = end_of(raw, next);
        KernelSymbols::Entry entry;
        entry.padding = padding <= kMaxPadding ? static_cast<std::uint16_t>(padding) : std::uint16_t{0};
        entry.begin = raw.address - entry.padding;
        entry.size = static_cast<std::uint32_t>(
            std::min<std::uint64_t>(end - entry.begin, std::numeric_limits<std::uint32_t>::max()));
        entry.name = raw.name;
        entry.name_size = raw.name_size;
        entry.module = raw.module;
        symbols_.entries_.push_back(entry);
    }

    [[nodiscard]] std::uint64_t end_of(const Raw& raw, std::size_t next) const {
        auto end = std::numeric_limits<std::uint64_t>::max();
        bool same_region = false;
        if (next < raws_.size()) {
            end = raws_[next].address;
            same_region = raws_[next].module == raw.module;
        }
        if (!same_region) end = std::min(end, page_after(raw.address));
        if (raw.module == 0 && raw.address < symbols_.etext_) end = std::min(end, symbols_.etext_);
        return end;
    }

    KernelSymbols symbols_;
    std::vector<Raw> raws_;
    boost::unordered_flat_map<std::string, std::uint16_t> module_index_;
    std::string last_module_;
    std::uint16_t last_module_index_ = 0;
    std::optional<std::uint64_t> padding_from_;
    std::size_t lines_ = 0;
    bool any_address_ = false;
};

KernelSymbols KernelSymbols::parse(std::string_view text) {
    KernelSymbolsBuilder builder;
    KallsymsStream stream([&](const KallsymsLine& line) { builder.add(line); });
    stream.feed(text);
    stream.finish();
    return std::move(builder).build(stream.malformed());
}

KernelSymbols KernelSymbols::from_file(const FileSymbols& file) {
    KernelSymbols made;
    made.modules_.emplace_back("[kernel.kallsyms]");
    made.text_ = file.bounds().text;
    made.stext_ = file.bounds().stext;
    made.etext_ = file.bounds().etext;
    std::uint64_t padding_from = 0;  // 0: no padding is in front
    for (std::size_t i = 0; i < file.size() && made.names_.size() <= kMaxNameBytes; ++i) {
        const auto function = file.at(i);
        if (function.name.starts_with("__pfx_") || function.name.starts_with("__cfi_")) {
            padding_from = function.start.value;
            continue;
        }
        const auto padding = padding_from == 0 ? 0 : function.start.value - padding_from;
        padding_from = 0;
        if (is_section_marker(function.name) || function.start.value == 0) continue;
        Entry entry;
        entry.padding = padding <= kMaxPadding ? static_cast<std::uint16_t>(padding) : std::uint16_t{0};
        entry.begin = function.start.value - entry.padding;
        entry.size = static_cast<std::uint32_t>(
            std::min<std::uint64_t>(function.size + entry.padding, std::numeric_limits<std::uint32_t>::max()));
        entry.name = static_cast<std::uint32_t>(made.names_.size());
        entry.name_size = static_cast<std::uint16_t>(
            std::min<std::size_t>(function.name.size(), std::numeric_limits<std::uint16_t>::max()));
        made.names_ += function.name.substr(0, entry.name_size);
        made.entries_.push_back(entry);
    }
    return made;
}

Result<KernelSymbols> KernelSymbols::load(const std::string& path) {
    auto file = open_file(path, O_RDONLY);
    if (!file) return fail(std::move(file.error()));
    KernelSymbolsBuilder builder;
    KallsymsStream stream([&](const KallsymsLine& line) { builder.add(line); });
    constexpr std::uint64_t kMaxBytes = 1U << 30;
    std::vector<char> chunk(256U << 10);
    for (std::uint64_t total = 0; total < kMaxBytes;) {
        const auto got = ::read(file->get(), chunk.data(), chunk.size());
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return fail_errno(errno, path);
        if (got == 0) break;
        stream.feed({chunk.data(), static_cast<std::size_t>(got)});
        total += static_cast<std::uint64_t>(got);
    }
    stream.finish();
    return std::move(builder).build(stream.malformed());
}

KernelSymbols::Function KernelSymbols::at(std::size_t index) const {
    const Entry& entry = entries_[index];
    return {.name = std::string_view(names_).substr(entry.name, entry.name_size),
            .dso = modules_[entry.module],
            .start = RuntimeAddress{entry.begin + entry.padding},
            .size = entry.size - entry.padding};
}

std::optional<KernelSymbols::Function> KernelSymbols::find(RuntimeAddress address) const {
    const auto after = std::ranges::upper_bound(entries_, address.value, {}, &Entry::begin);
    if (after == entries_.begin()) return std::nullopt;
    const Entry& entry = *std::prev(after);
    if (address.value - entry.begin >= entry.size) return std::nullopt;
    return at(static_cast<std::size_t>(std::prev(after) - entries_.begin()));
}

std::optional<RuntimeAddress> KernelSymbols::address_of(std::string_view name) const {
    const std::array<std::pair<std::string_view, std::uint64_t>, 3> bounds{
        {{"_text", text_}, {"_stext", stext_}, {"_etext", etext_}}};
    for (const auto& [bound, address] : bounds) {
        if (bound == name) return address == 0 ? std::nullopt : std::optional(RuntimeAddress{address});
    }
    for (std::size_t i = 0; i < size(); ++i) {
        if (const auto function = at(i); function.name == name) return function.start;
    }
    return std::nullopt;
}

bool KernelSymbols::in_core_text(RuntimeAddress address) const {
    const auto from = text_ != 0 ? text_ : stext_;
    return from != 0 && address.value >= from && address.value < etext_;
}

std::size_t KernelSymbols::bytes() const { return entries_.capacity() * sizeof(Entry) + names_.capacity(); }

std::vector<collector::KernelTextRange> KernelSymbols::text_ranges(const Classifier& classify) const {
    std::vector<collector::KernelTextRange> ranges;
    for (std::size_t i = 0; i < size(); ++i) {
        const Entry& entry = entries_[i];
        const auto text_class = classify(at(i).name);
        if (text_class == 0) continue;
        if (!ranges.empty() && ranges.back().end == entry.begin && ranges.back().text_class == text_class) {
            ranges.back().end += entry.size;
            continue;
        }
        ranges.push_back({.start = entry.begin, .end = entry.begin + entry.size, .text_class = text_class});
    }
    return ranges;
}

namespace {

constexpr unsigned kCapSyslog = 34;

bool has_capability(unsigned number) {
    const auto status = read_file("/proc/self/status", 64U << 10);
    if (!status) return false;
    std::string_view text = *status;
    while (!text.empty()) {
        auto line = next_piece(text, '\n');
        if (next_piece(line, ':') != "CapEff") continue;
        const auto set = parse_number<std::uint64_t>(trim(line), 16);
        return set && ((*set >> number) & 1U) != 0;
    }
    return false;
}

constexpr int kUnreadable = -1000;

int kernel_setting(const std::string& name) {
    const auto text = read_file("/proc/sys/kernel/" + name, 64);
    return text ? parse_number<int>(trim(*text)).value_or(kUnreadable) : kUnreadable;
}

std::string setting_text(int value) { return value == kUnreadable ? std::string("unreadable") : std::to_string(value); }

}  // namespace

collector::Degraded explain_hidden_kernel(const Error* load_error) {
    collector::Degraded degraded;
    degraded.reason = "no_kernel_symbols";
    if (load_error != nullptr) {
        degraded.detail = "Kernel functions have no names: " + load_error->message + ".";
        degraded.remedy =
            "Run with CAP_SYSLOG, and under systemd without ProtectKernelTunables=, which makes /proc/kallsyms "
            "inaccessible, and without ProcSubset=pid.";
        return degraded;
    }
    // kernel/ksyms_common.c: shown with CAP_SYSLOG while kptr_restrict is 0 or 1; to others while it is 0 and paranoid
    // is at most 1.
    const int restrict = kernel_setting("kptr_restrict");
    const int paranoid = kernel_setting("perf_event_paranoid");
    degraded.detail = "Kernel functions have no names: /proc/kallsyms shows every address as zero (kptr_restrict is " +
                      setting_text(restrict) + ", perf_event_paranoid is " + setting_text(paranoid) +
                      ", CAP_SYSLOG is " + (has_capability(kCapSyslog) ? "held" : "missing") + ").";
    degraded.remedy = restrict >= 2 ? "Set the sysctl kernel.kptr_restrict to 1, and run with CAP_SYSLOG."
                                    : "Run with CAP_SYSLOG in the initial user namespace; under systemd without "
                                      "ProtectKernelLogs=, which takes it away.";
    if (restrict == 0 && paranoid > 1) degraded.remedy += " Or set the sysctl kernel.perf_event_paranoid to 1.";
    return degraded;
}

}  // namespace perfvigil::analyzer
