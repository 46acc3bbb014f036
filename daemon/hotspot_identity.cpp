// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/hotspot_identity.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "analyzer/slice.hpp"
#include "base/text.hpp"
#include "daemon/hotspot_text.hpp"

namespace perfvigil::daemon {
namespace {

using namespace hotspot_text;

constexpr std::size_t kKeptBytes = 180;
constexpr std::size_t kHashDigits = 8;
constexpr std::size_t kMinNumberDigits = 10;  // a run of decimal digits this long is a time or an id
constexpr std::string_view kUnknown = "[unknown]";
constexpr std::string_view kJit = "[jit]";
constexpr std::string_view kNone = "(none)";
constexpr auto npos = std::string_view::npos;

// --- units ---------------------------------------------------------------------------------------------------------

// systemd writes characters that unit names cannot hold as \xNN ("machine-qemu\x2d1.scope").
std::string decode_unit_escapes(std::string_view unit) {
    std::string out;
    for (std::size_t i = 0; i < unit.size();) {
        const std::string_view rest = unit.substr(i);
        const auto code = rest.size() >= 4 && rest.starts_with("\\x")
                              ? parse_number<unsigned char>(rest.substr(2, 2), 16)
                              : std::nullopt;
        if (code && *code >= ' ' && *code < 0x7f) {
            out += static_cast<char>(*code);
            i += 4;
        } else {
            out += unit[i++];
        }
    }
    return out;
}

// The length of "01234567-89ab-cdef-0123-456789abcdef" (or with '_', as kubelet writes it) at the start of `text`.
std::size_t uuid_at(std::string_view text) {
    static constexpr std::array<std::size_t, 5> kParts{8, 4, 4, 4, 12};
    std::size_t at = 0;
    for (std::size_t part = 0; part < kParts.size(); ++part) {
        if (part > 0) {
            if (at >= text.size() || (text[at] != '-' && text[at] != '_')) return 0;
            ++at;
        }
        const std::string_view digits = text.substr(std::min(at, text.size()), kParts[part]);
        if (digits.size() < kParts[part] || !std::ranges::all_of(digits, is_hex)) return 0;
        at += kParts[part];
    }
    return at;
}

std::string replace_uuids(std::string_view text) {
    std::string out;
    while (!text.empty()) {
        const std::size_t length = uuid_at(text);
        if (length != 0) {
            out += '*';
        } else {
            out += text.front();
        }
        text.remove_prefix(std::max<std::size_t>(length, 1));
    }
    return out;
}

// Whether a part between dashes is a number of this run rather than a word of the name.
bool is_instance_part(std::string_view part, bool of_run, bool numbered_kind) {
    constexpr std::size_t kShortHash = 8;
    constexpr std::size_t kLongNumber = 5;  // "postgresql-15.service" is a version
    if (all_digits(part)) return numbered_kind || of_run || part.size() >= kLongNumber;
    if (numbered_kind && part.size() >= kShortHash && looks_like_hash(part)) return true;
    // systemd-run: "run-r<hex>", "run-u12", "run-p3419-i3420".
    return of_run && part.size() > 1 && std::string_view("rupi").contains(part.front()) &&
           (part.substr(1) == "*" || std::ranges::all_of(part.substr(1), is_hex));
}

std::string replace_unit_numbers(std::string_view stem, std::string_view suffix) {
    const bool numbered_kind = suffix == ".scope" || suffix == ".slice";
    const bool of_run = stem.starts_with("run-");
    std::string out;
    bool starred = false;
    bool first = true;
    for (const std::string_view part : split(stem, '-')) {
        const bool star = part == "*" || is_instance_part(part, of_run, numbered_kind);
        if (star && starred) continue;
        if (!std::exchange(first, false)) out += '-';
        if (star) {
            out += '*';
        } else {
            out += part;
        }
        starred = star;
    }
    return out;
}

std::size_t token_length(std::string_view escaped) {
    if (escaped.starts_with("\\x")) return 4;
    if (escaped.starts_with('\\')) return 2;
    std::size_t length = 1;
    while (length < escaped.size() && (static_cast<unsigned char>(escaped[length]) & 0xc0U) == 0x80U) ++length;
    return length;
}

// At most kMaxIdentityBytes of `escaped`, cut between characters and escapes.
std::string bounded(std::string escaped, std::string_view whole) {
    if (escaped.size() <= kMaxIdentityBytes) return escaped;
    std::size_t kept = 0;
    while (true) {
        const std::size_t next = kept + token_length(std::string_view(escaped).substr(kept));
        if (next > kKeptBytes) break;
        kept = next;
    }
    std::array<char, kHashDigits> digits{};
    auto hash = stable_hash(whole);
    for (auto digit = digits.rbegin(); digit != digits.rend(); ++digit) {
        *digit = "0123456789abcdef"[hash & 0xfU];
        hash >>= 4U;
    }
    escaped.resize(kept);
    return escaped.append("~").append(digits.data(), digits.size());
}

}  // namespace

std::string bounded_identity(std::string_view name) { return bounded(escape(name), name); }

std::string dso_identity(std::string_view dso) {
    constexpr std::string_view kDeleted = " (deleted)";
    if (dso.empty()) return std::string(kUnknown);
    if (dso.ends_with(kDeleted)) dso.remove_suffix(kDeleted.size());
    if (dso == analyzer::kExcluded) return std::string(dso);
    const std::string_view name = base_name(dso);
    const auto has_form = [&](std::string_view start, std::string_view end) {
        return name.size() > start.size() + end.size() && name.starts_with(start) && name.ends_with(end) &&
               is_digit(name[start.size()]);
    };
    const bool no_file = dso.starts_with("//anon") || dso.starts_with("[anon") || dso.starts_with("/memfd:") ||
                         dso.starts_with("/SYSV") || dso == "/dev/zero" || dso == "/anon_hugepage" || dso == "anon" ||
                         dso == kJit;
    if (no_file || has_form("perf-", ".map") || has_form("jitted-", ".so")) return std::string(kJit);
    const std::string numbered = replace_runs(replace_hashes(name), kMinNumberDigits, is_digit, all_digits);
    if (numbered.empty()) return std::string(kUnknown);
    const bool in_file_system = dso.size() != name.size();
    const bool looks_ours = numbered.starts_with('[') || numbered.starts_with('(');
    std::string escaped = escape(numbered);
    if ((in_file_system && looks_ours) || is_reserved(escaped)) escaped = marked_foreign(std::move(escaped));
    return bounded(std::move(escaped), numbered);
}

std::string unit_identity(std::string_view unit) {
    if (unit.empty()) return std::string(kNone);
    if (unit == analyzer::kExcluded) return std::string(unit);
    const std::string decoded = decode_unit_escapes(unit);
    const std::string_view whole = decoded;
    const std::size_t dot = whole.rfind('.');
    const std::string_view suffix = dot == npos ? std::string_view{} : whole.substr(dot);
    std::string_view stem = whole.substr(0, dot);
    std::string_view at_sign;
    if (const std::size_t at = stem.find('@'); at != npos) {
        stem = stem.substr(0, at);
        at_sign = "@";
    }
    std::string name = replace_unit_numbers(replace_hashes(replace_uuids(stem)), suffix);
    std::string identity = bounded_identity(name.append(at_sign).append(suffix));
    return is_reserved(identity) ? marked_foreign(std::move(identity)) : identity;
}

}  // namespace perfvigil::daemon
