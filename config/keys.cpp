// SPDX-License-Identifier: GPL-2.0-or-later
#include "config/keys.hpp"

#include <algorithm>

#include "base/edit_distance.hpp"
#include "config/ship_format.hpp"
#include "config/trigger_format.hpp"
#include "config/values.hpp"

namespace perfvigil::config {
namespace {

using enum Key::Reload;

// Text that YAML would read as something else, or not at all, is put in double quotes.
std::string yaml_text(const std::string& text) {
    constexpr std::string_view kPlain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./%-";
    const bool plain = !text.empty() && text.find_first_not_of(kPlain) == std::string::npos && text.front() != '-' &&
                       text.front() != '%' && text != "null" && text != "Null" && text != "NULL";
    if (plain) return text;
    // A lone port after a colon without a blank is plain text to YAML: 127.0.0.1:9909.
    if (!text.empty() && text.find_first_not_of("0123456789.:") == std::string::npos && text.back() != ':') return text;
    std::string out = "\"";
    constexpr std::string_view kHex = "0123456789abcdef";
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (c == '"' || c == '\\') {
            out += {'\\', c};
        } else if (byte < 0x20 || byte == 0x7f) {
            out += {'\\', 'x', kHex[byte >> 4U], kHex[byte & 15U]};
        } else {
            out += c;
        }
    }
    return out + '"';
}

template <class Access, class Format>
Key scalar(std::string_view name, Key::Reload reload, Access access, Format format, std::string_view comment) {
    Key key{name, comment, Key::Shape::kScalar, reload, {}, {}, {}};
    key.parse = [access, format](Options& options, std::span<const std::string> values) -> std::optional<Complaint> {
        auto parsed = format.parse(values.front());
        if (!parsed) return std::move(parsed.error());
        access(options) = std::move(*parsed);
        return std::nullopt;
    };
    key.print = [access, format](const Options& options) { return yaml_text(format.print(access(options))); };
    key.copy = [access](const Options& from, Options& to) { access(to) = access(from); };
    return key;
}

template <class Access, class Format>
Key list(std::string_view name, Key::Reload reload, Access access, Format format, std::string_view comment) {
    Key key{name, comment, Key::Shape::kList, reload, {}, {}, {}};
    key.parse = [access, format](Options& options, std::span<const std::string> values) -> std::optional<Complaint> {
        std::remove_cvref_t<decltype(access(options))> entries;
        for (const auto& value : values) {
            auto parsed = format.parse(value);
            if (!parsed) return std::move(parsed.error());
            entries.push_back(std::move(*parsed));
        }
        access(options) = std::move(entries);
        return std::nullopt;
    };
    key.print = [access, format](const Options& options) {
        std::string text = "[";
        for (const auto& entry : access(options)) {
            if (text.size() > 1) text += ", ";
            text += yaml_text(format.print(entry));
        }
        return text + "]";
    };
    key.copy = [access](const Options& from, Options& to) { access(to) = access(from); };
    return key;
}

// `listen.address` fills three fields and must leave its neighbours alone.
Key listen_key() {
    Key key{
        "listen.address",
        "Where /metrics, /healthz and /readyz are served over TCP: a numeric address and port, or off. Port 0 takes "
        "any free port and logs it. An address that other hosts can reach needs allow_remote.",
        Key::Shape::kScalar,
        kRestart,
        {},
        {},
        {}};
    const auto assign = [](const ListenOptions& from, Options& to) {
        to.listen.enabled = from.enabled;
        to.listen.address = from.address;
        to.listen.port = from.port;
    };
    key.parse = [assign](Options& options, std::span<const std::string> values) -> std::optional<Complaint> {
        const auto parsed = ListenFormat{}.parse(values.front());
        if (!parsed) return parsed.error();
        assign(*parsed, options);
        return std::nullopt;
    };
    key.copy = [assign](const Options& from, Options& to) { assign(from.listen, to); };
    key.print = [](const Options& options) { return yaml_text(ListenFormat{}.print(options.listen)); };
    return key;
}

#define PERFVIGIL_FIELD(path) [](auto& o) -> auto& { return o.path; }

constexpr std::uint64_t kKiB = 1024;
constexpr std::uint64_t kMiB = 1024 * kKiB;
constexpr std::uint64_t kTiB = kMiB * kMiB;
constexpr Nanoseconds kHour = std::chrono::hours(1);
constexpr std::size_t kSocketPath = 107;  // sun_path without its final zero, unix(7)

void add_recording(std::vector<Key>& all) {
    const BytesFormat ring{16 * kKiB, 256 * kMiB};
    all.push_back(list("recording.events", kRestart, PERFVIGIL_FIELD(recording.events), EventFormat{},
                       "What is sampled on every CPU. cpu-clock is what busy time, coverage and the clock ledger are "
                       "computed from; cycles needs a PMU and is left out, said, where there is none."));
    all.push_back(scalar("recording.frequency", kLive, PERFVIGIL_FIELD(recording.tuning.frequency),
                         FrequencyFormat{1, 20000},
                         "Samples per second, of each event on each CPU. Cost grows in proportion: each sample takes "
                         "10 to 20 microseconds. 99 rather than 100 keeps out of step with timers."));
    all.push_back(
        scalar("recording.cpus", kRestart, PERFVIGIL_FIELD(cpus), CpusFormat{},
               "all, except-isolated (without those of isolcpus and nohz_full, which sampling would disturb), "
               "or numbers such as 0-3,8. What is not recorded is in no report."));
    all.push_back(scalar("recording.max_stack", kLive, PERFVIGIL_FIELD(recording.tuning.max_stack),
                         NumberFormat<std::uint16_t>{1, 1024},
                         "Frames kept of each call chain; deeper chains lose their outermost frames and count as "
                         "truncated. The kernel allows no more than kernel.perf_event_max_stack."));
    all.push_back(scalar("recording.slice", kRestart, PERFVIGIL_FIELD(recording.slice),
                         DurationFormat{Seconds(1), Seconds(60)},
                         "How long one slice is. Metrics change, loss is noticed and captures are cut at its end."));
    all.push_back(scalar("recording.rings.samples", kLive, PERFVIGIL_FIELD(recording.tuning.sample_ring_bytes), ring,
                         "Ring buffer for samples, per CPU; rounded up to a power of two. A larger one survives longer "
                         "stalls of the daemon without loss."));
    all.push_back(scalar("recording.rings.side_band", kLive, PERFVIGIL_FIELD(recording.tuning.side_band_ring_bytes),
                         ring,
                         "Ring buffer for mmap, exec and fork records, per CPU. Loss here makes names unreliable."));
    all.push_back(scalar("recording.rings.total", kRestart, PERFVIGIL_FIELD(recording.rings_total_bytes),
                         BytesFormat{kMiB, 64 * 1024 * kMiB},
                         "Limit of all ring buffers together. They are locked memory outside the daemon's RSS; rings "
                         "that would exceed it are made smaller, said."));
}

void add_analysis(std::vector<Key>& all) {
    all.push_back(
        scalar("analysis.window", kRestart, PERFVIGIL_FIELD(analysis.window), DurationFormat{Seconds(1), kHour},
               "How long one window is: the unit of reports and of the store. A multiple of recording.slice."));
    all.push_back(scalar("analysis.spread", kLive, PERFVIGIL_FIELD(analysis.spread), DurationFormat{{}, kHour},
                         "Encoding and storing a finished window start after a random time up to this, so that many "
                         "hosts do not peak together; at most half a window."));
    all.push_back(list("symbols.debuginfod", kRestart, PERFVIGIL_FIELD(symbols.debuginfod), UrlFormat{},
                       "debuginfod servers that are asked for separate debug files that are not on this host, by "
                       "build-id, through debuginfod-find; what they send names functions from the next window on. A "
                       "server learns which programs run here. Empty: none is asked."));
    all.push_back(scalar("symbols.debuginfod_dir", kRestart, PERFVIGIL_FIELD(symbols.debuginfod_directory),
                         PathFormat{},
                         "Where debuginfod-find keeps what it fetched; it removes what was not used for a week."));
}

void add_store(std::vector<Key>& all) {
    const DurationFormat age{Seconds(1), 3660 * 24 * kHour};
    const DurationFormat length{Seconds(1), 24 * kHour};
    all.push_back(scalar("store.dir", kRestart, PERFVIGIL_FIELD(store.directory), PathFormat{},
                         "Where the windows' profiles are kept, with an index that is rebuilt when it is missing."));
    all.push_back(scalar(
        "store.bytes", kLive, PERFVIGIL_FIELD(store.bytes), BytesFormat{kMiB, kTiB},
        "Limit of all profiles together; beyond it windows that longer profiles hold are removed first, then the "
        "oldest."));
    all.push_back(scalar("store.free", kLive, PERFVIGIL_FIELD(store.free_bytes), BytesFormat{0, kTiB},
                         "When less than this is left on its file system, neither profiles nor captures grow any "
                         "further: each new one takes the place of the oldest."));
    all.push_back(scalar("store.windows.keep", kLive, PERFVIGIL_FIELD(store.window_age), age,
                         "How long windows are kept that a roll-up holds too."));
    all.push_back(scalar("store.rollups.length", kRestart, PERFVIGIL_FIELD(store.rollup_length), length,
                         "Windows are rolled up into profiles of this length, a multiple of analysis.window. Call "
                         "chains under 0.01 % become (pruned) there; everything counted stays exact."));
    all.push_back(scalar("store.rollups.keep", kLive, PERFVIGIL_FIELD(store.rollup_age), age,
                         "How long roll-ups are kept that an archive holds too."));
    all.push_back(scalar("store.archives.length", kRestart, PERFVIGIL_FIELD(store.archive_length), length,
                         "Roll-ups are rolled up once more into profiles of this length, a multiple of theirs."));
    all.push_back(scalar("store.archives.keep", kLive, PERFVIGIL_FIELD(store.archive_age), age,
                         "How long those are kept, and with them everything else."));
}

void add_hidden(std::vector<Key>& all) {
    all.push_back(list("exclude.units", kRestart, PERFVIGIL_FIELD(exclude.units), PatternFormat{},
                       "Units, slices and containers whose samples keep neither names nor call chains: they count as "
                       "busy, and show as (excluded). Names or globs, of any part of a control group's path, such as "
                       "user-1000.slice or vault*.service. Where anything is excluded or redacted no raw captures are "
                       "kept, for they would tell."));
    all.push_back(list("exclude.comms", kRestart, PERFVIGIL_FIELD(exclude.comms), PatternFormat{},
                       "The same for names of threads and processes, of which the kernel keeps 15 bytes. Who owns a "
                       "process can change its name."));
    all.push_back(list("exclude.users", kRestart, PERFVIGIL_FIELD(exclude.users), UserFormat{},
                       "The same for the processes of these users, by name or number. /proc tells who they are, asked "
                       "once for each process and slice; of one that ended before, its parent's user counts."));
    all.push_back(scalar("redact", kRestart, PERFVIGIL_FIELD(redact), RedactFormat{},
                         "nothing, or paths: programs, libraries and files in names of functions lose their folders "
                         "(/srv/u/bin/x is x), before anything is stored or served."));
}

void add_captures(std::vector<Key>& all) {
    all.push_back(scalar("captures.enabled", kRestart, PERFVIGIL_FIELD(captures.enabled), BoolFormat{},
                         "Whether the raw records are kept as perf.data files beside the profiles. Without them, "
                         "questions finer than a window cannot be answered later."));
    all.push_back(scalar("captures.dir", kRestart, PERFVIGIL_FIELD(captures.directory), PathFormat{},
                         "Where the capture files are kept. They hold addresses and names of every process."));
    all.push_back(scalar("captures.size", kLive, PERFVIGIL_FIELD(captures.file_bytes),
                         BytesFormat{64 * kKiB, 16 * 1024 * kMiB},
                         "A capture file is closed and the next begun at the end of the slice in which it reaches this "
                         "size."));
    all.push_back(scalar("captures.age", kLive, PERFVIGIL_FIELD(captures.file_age),
                         DurationFormat{Seconds(1), 24 * kHour},
                         "The same by time: a file never covers more than about this."));
    all.push_back(scalar("captures.bytes", kLive, PERFVIGIL_FIELD(captures.bytes), BytesFormat{kMiB, 16 * kTiB},
                         "Limit of all capture files together; beyond it the oldest are removed."));
    all.push_back(scalar("captures.keep", kLive, PERFVIGIL_FIELD(captures.keep),
                         DurationFormat{Seconds(1), 3660 * 24 * kHour},
                         "How long capture files are kept, counted from their begin."));
    all.push_back(scalar("captures.frozen", kLive, PERFVIGIL_FIELD(captures.frozen_bytes), BytesFormat{kMiB, 16 * kTiB},
                         "Limit of all frozen captures together (perfvigil freeze, triggers.rules). They count "
                         "neither in captures.bytes nor in captures.keep. Beyond it what rules froze goes, the oldest "
                         "first; what a person froze stays, and new ones are refused."));
    all.push_back(scalar("captures.compression", kRestart, PERFVIGIL_FIELD(captures.compression),
                         NumberFormat<std::uint32_t>{0, 19},
                         "zstd level, 0 for none. 3 makes files about five times smaller at little cost."));
}

void add_triggers(std::vector<Key>& all) {
    all.push_back(list("triggers.rules", kLive, PERFVIGIL_FIELD(triggers.rules), TriggerRuleFormat{},
                       "When to keep what was recorded until then, and to look closer: NAME when SIGNAL > LIMIT for "
                       "DURATION, such as saturated when cpu_busy > 95% for 1min. Signals: cpu_busy, function NAME, "
                       "unit NAME, loss, pressure cpu|memory|io some|full, load, load_per_cpu. docs/triggers.md says "
                       "what each is. Judged at the end of each slice."));
    all.push_back(scalar("triggers.last", kLive, PERFVIGIL_FIELD(triggers.last), DurationFormat{Seconds(1), 24 * kHour},
                         "How far back from that moment captures are frozen."));
    all.push_back(scalar("triggers.pause", kLive, PERFVIGIL_FIELD(triggers.pause),
                         DurationFormat{Seconds(1), 24 * 366 * kHour},
                         "A rule that did something does nothing more for so long; that it would have is counted."));
    all.push_back(scalar("triggers.per_hour", kLive, PERFVIGIL_FIELD(triggers.per_hour),
                         NumberFormat<std::uint32_t>{1, 60},
                         "How often in an hour all rules together may do something."));
    all.push_back(scalar("triggers.capture.duration", kLive, PERFVIGIL_FIELD(triggers.capture_duration),
                         DurationFormat{{}, 24 * kHour},
                         "How long the capture is that a rule begins; at most on_demand.longest. It counts against "
                         "budget.captures. 0: none is begun."));
    all.push_back(scalar("triggers.capture.frequency", kLive, PERFVIGIL_FIELD(triggers.capture_frequency),
                         FrequencyFormat{1, 20000},
                         "Its samples per second, of each event on each CPU; fewer where budget.captures allows no "
                         "more."));
}

void add_on_demand(std::vector<Key>& all) {
    all.push_back(scalar("on_demand.concurrent", kRestart, PERFVIGIL_FIELD(on_demand.concurrent),
                         NumberFormat<std::uint32_t>{1, 8},
                         "How many captures that callers asked for (perfvigil capture) run at a time. Each has events, "
                         "rings and a thread of its own; rings count against recording.rings.total."));
    all.push_back(scalar("on_demand.waiting", kRestart, PERFVIGIL_FIELD(on_demand.waiting),
                         NumberFormat<std::uint32_t>{0, 64},
                         "How many more wait for one of those to end; others are refused."));
    all.push_back(scalar("on_demand.longest", kRestart, PERFVIGIL_FIELD(on_demand.longest),
                         DurationFormat{Seconds(1), 24 * kHour}, "The longest duration that a caller may ask for."));
}

void add_ship(std::vector<Key>& all) {
    all.push_back(scalar("ship.to", kRestart, PERFVIGIL_FIELD(ship.to), ShipTargetFormat{},
                         "Where stored windows are sent besides: a folder, or http:// and the address of a collector, "
                         "such as http://127.0.0.1:4318/v1development/profiles. They hold the names of what every user "
                         "runs. Empty: nowhere."));
    all.push_back(scalar("ship.format", kRestart, PERFVIGIL_FIELD(ship.format), ShipFormatFormat{},
                         "otlp (OpenTelemetry profiles, all events) or pprof (gzip, the clock's)."));
    all.push_back(scalar("ship.waiting", kRestart, PERFVIGIL_FIELD(ship.waiting), NumberFormat<std::uint32_t>{1, 10000},
                         "How many windows wait for a collector that does not take them; of more the oldest are given "
                         "up, counted. They wait in the store, so nothing is kept twice."));
}

void add_doors(std::vector<Key>& all) {
    all.push_back(listen_key());
    all.push_back(list("listen.allowed_hosts", kLive, PERFVIGIL_FIELD(listen.allowed_hosts), HostFormat{},
                       "Values of a request's Host header that are answered, beside localhost and loopback addresses. "
                       "Others get 421: it keeps web pages from reaching the daemon under a name of their own."));
    all.push_back(scalar("listen.allow_remote", kRestart, PERFVIGIL_FIELD(listen.allow_remote), BoolFormat{},
                         "Lets listen.address be one that other hosts can reach. Needs listen.token_file. There is no "
                         "TLS here: put a reverse proxy in front."));
    all.push_back(scalar("listen.token_file", kRestart, PERFVIGIL_FIELD(listen.token_file),
                         PathFormat{PathFormat::Empty::kAllowed, 4095},
                         "A file whose content every TCP request must carry, as \"Authorization: Bearer CONTENT\" or "
                         "as the cookie perfvigil_token; with it, and only with it, reports and profiles are served "
                         "over TCP too. Read at start and at reload. Empty: none is asked for."));
    all.push_back(scalar("sockets.control", kRestart, PERFVIGIL_FIELD(sockets.control),
                         PathFormat{PathFormat::Empty::kRefused, kSocketPath},
                         "The Unix socket that the perfvigil command speaks to. The last folder of its path is created "
                         "when it is missing."));
    all.push_back(
        scalar("sockets.group", kRestart, PERFVIGIL_FIELD(sockets.group), NameFormat{},
               "Group that owns the control socket: its members may do everything, captures included. Empty: the "
               "daemon's own group."));
    all.push_back(scalar("sockets.read", kRestart, PERFVIGIL_FIELD(sockets.read),
                         PathFormat{PathFormat::Empty::kAllowed, kSocketPath},
                         "A second Unix socket on which status, reports and profiles are read and nothing can be "
                         "changed. Empty: none."));
    all.push_back(scalar("sockets.read_group", kRestart, PERFVIGIL_FIELD(sockets.read_group), NameFormat{},
                         "Group that owns the read socket. Where there is no such group there is no read socket, said. "
                         "Empty: the daemon's own group."));
    all.push_back(scalar("sockets.mode", kRestart, PERFVIGIL_FIELD(sockets.mode), ModeFormat{},
                         "Permissions of both sockets, in octal."));
}

void add_limits(std::vector<Key>& all) {
    const NumberFormat<std::uint32_t> series{1, 10000};
    all.push_back(scalar("metrics.functions", kRestart, PERFVIGIL_FIELD(metrics.functions), series,
                         "How many functions have series of their own; the others are summed up as (other)."));
    all.push_back(scalar("metrics.dsos", kRestart, PERFVIGIL_FIELD(metrics.dsos), series,
                         "The same for DSOs (programs, libraries, kernel modules)."));
    all.push_back(
        scalar("metrics.units", kRestart, PERFVIGIL_FIELD(metrics.units), series, "The same for systemd units."));
    all.push_back(
        scalar("metrics.threshold", kRestart, PERFVIGIL_FIELD(metrics.threshold), PercentFormat{0, 1},
               "Share of the busy CPU time of the last minutes from which a name may get a series of its own. "
               "Lower means more series that come and go."));
    all.push_back(scalar("budget.cpu", kLive, PERFVIGIL_FIELD(budget.cpu), PercentFormat{0.0001, 1},
                         "Share of the host's CPU time that the daemon and the kernel's sampling for it may take; "
                         "perfvigil_budget_ratio{resource=\"cpu\"} is 1 when it is used up."));
    all.push_back(scalar("budget.captures", kLive, PERFVIGIL_FIELD(budget.captures), PercentFormat{0.0001, 1},
                         "The same for all captures that run on demand, beside budget.cpu. One that is predicted to "
                         "exceed it is refused, with figures, unless its caller insists (--force)."));
    all.push_back(
        scalar("log.level", kLive, PERFVIGIL_FIELD(log.level), LogLevelFormat{}, "error, warning, info or debug."));
}

#undef PERFVIGIL_FIELD

std::string_view last_part(std::string_view name) { return name.substr(name.rfind('.') + 1); }

}  // namespace

const std::vector<Key>& keys() {
    static const std::vector<Key> all = [] {
        std::vector<Key> made;
        add_recording(made);
        add_analysis(made);
        add_hidden(made);
        add_store(made);
        add_captures(made);
        add_triggers(made);
        add_on_demand(made);
        add_ship(made);
        add_doors(made);
        add_limits(made);
        return made;
    }();
    return all;
}

const Key* find_key(std::string_view name) {
    const auto found = std::ranges::find(keys(), name, &Key::name);
    return found == keys().end() ? nullptr : &*found;
}

bool is_section(std::string_view name) {
    return std::ranges::any_of(keys(), [&](const Key& key) {
        return key.name.size() > name.size() && key.name.starts_with(name) && key.name[name.size()] == '.';
    });
}

std::string_view nearest_key(std::string_view name) {
    constexpr std::size_t kLongest = 64;
    if (name.empty() || name.size() > kLongest) return {};
    std::string_view best;
    std::size_t best_distance = std::max<std::size_t>(2, name.size() / 4) + 1;
    const auto consider = [&](std::string_view candidate, std::size_t edits) {
        if (edits < best_distance) {
            best = candidate;
            best_distance = edits;
        }
    };
    for (const auto& key : keys()) {
        consider(key.name, edit_distance(name, key.name));
        for (auto dot = key.name.find('.'); dot != std::string_view::npos; dot = key.name.find('.', dot + 1)) {
            const auto section = key.name.substr(0, dot);
            consider(section, edit_distance(name, section));
        }
    }
    // The right word in the wrong section.
    for (const auto& key : keys()) {
        if (last_part(key.name) == last_part(name)) consider(key.name, 1);
    }
    return best;
}

}  // namespace perfvigil::config
