// SPDX-License-Identifier: GPL-2.0-or-later
#include "config/config.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "base/fd.hpp"
#include "base/text.hpp"
#include "config/keys.hpp"
#include "config/values.hpp"
#include "config/yaml.hpp"

namespace perfvigil::config {
namespace {

constexpr std::size_t kMaxFile = 1U << 20;
constexpr std::size_t kCommentWidth = 100;
// Each has series of its own.
constexpr std::size_t kMostRules = 32;

std::string did_you_mean(std::string_view key) {
    const auto near = nearest_key(key);
    return near.empty() ? "see docs/configuration.md for the known ones" : "did you mean " + std::string(near) + "?";
}

// Puts one setting into the options, or adds its fault.
void apply(const Setting& setting, Loaded& loaded) {
    const auto complain = [&](std::string why, std::string suggestion) {
        loaded.faults.push_back({setting.line, setting.key, std::move(why), std::move(suggestion)});
    };
    const Key* key = find_key(setting.key);
    if (key == nullptr) {
        if (!is_section(setting.key)) return complain("unknown key", did_you_mean(setting.key));
        // A section whose keys are all commented out.
        if (setting.shape == Setting::Shape::kEmpty) return;
        return complain("is a section and has no value of its own", "write its keys below it");
    }
    std::vector<std::string> values = setting.values;
    if (key->shape == Key::Shape::kScalar) {
        if (setting.shape == Setting::Shape::kList) return complain("takes one value, not a list", "");
        // "key:" and "key: ~" are the empty text, which most keys then refuse.
        if (setting.shape == Setting::Shape::kEmpty) values = {""};
    } else if (setting.shape == Setting::Shape::kScalar) {
        return complain("takes a list", "write [" + escape(values.front()) + "]");
    }
    if (auto complaint = key->parse(loaded.options, values)) {
        complain(std::move(complaint->why), std::move(complaint->suggestion));
    }
}

// What no single key can judge. A relation in which a refused value takes part is passed over: it would be judged by
// that key's default.
class Relations {
public:
    Relations(const std::vector<Setting>& settings, Loaded& loaded) : loaded_(loaded) {
        for (const auto& setting : settings) lines_[setting.key] = setting.line;
        for (const auto& fault : loaded.faults) refused_.insert(fault.key);
    }

    void check() {
        const Options& o = loaded_.options;
        const auto& tuning = o.recording.tuning;
        require(!o.recording.events.empty(), {"recording.events"}, "is empty", "write [cycles, cpu-clock]");
        require(o.analysis.window % o.recording.slice == Nanoseconds{}, {"analysis.window", "recording.slice"},
                "is no multiple of recording.slice",
                "write whole slices of " + DurationFormat{}.print(o.recording.slice));
        require(tuning.sample_ring_bytes + tuning.side_band_ring_bytes <= o.recording.rings_total_bytes,
                {"recording.rings.total", "recording.rings.samples", "recording.rings.side_band"},
                "does not hold the rings of one CPU",
                "write at least recording.rings.samples + recording.rings.side_band");
        require(o.captures.file_bytes <= o.captures.bytes, {"captures.bytes", "captures.size"},
                "does not hold one file of captures.size",
                "write at least " + BytesFormat{}.print(o.captures.file_bytes));
        require(!o.captures.enabled || o.captures.directory != o.store.directory, {"captures.dir", "store.dir"},
                "is the same as store.dir", "give each its own folder");
        check_store();
        check_triggers();
        require(o.sockets.read != o.sockets.control, {"sockets.read", "sockets.control"},
                "is the same as sockets.control", "give each its own path");
        const auto& listen = o.listen;
        const bool remote = listen.enabled && !is_loopback(listen.address);
        require(!remote || listen.allow_remote, {"listen.address", "listen.allow_remote"},
                listen.address + " can be reached from other hosts",
                "write 127.0.0.1:9909, or set listen.allow_remote and listen.token_file");
        require(!remote || !listen.allow_remote || !listen.token_file.empty(),
                {"listen.token_file", "listen.address", "listen.allow_remote"},
                "must be set where listen.allow_remote is", "name a file that holds a long random word");
    }

private:
    void check_store() {
        const Options& o = loaded_.options;
        const auto& store = o.store;
        require(store.rollup_length % o.analysis.window == Nanoseconds{} && store.rollup_length > o.analysis.window,
                {"store.rollups.length", "analysis.window"}, "is no multiple of analysis.window",
                "write several windows of " + DurationFormat{}.print(o.analysis.window));
        require(
            store.archive_length % store.rollup_length == Nanoseconds{} && store.archive_length > store.rollup_length,
            {"store.archives.length", "store.rollups.length"}, "is no multiple of store.rollups.length",
            "write several roll-ups of " + DurationFormat{}.print(store.rollup_length));
        require(store.window_age >= store.rollup_length, {"store.windows.keep", "store.rollups.length"},
                "is shorter than store.rollups.length",
                "write at least " + DurationFormat{}.print(store.rollup_length));
        require(store.rollup_age >= store.window_age && store.rollup_age >= store.archive_length,
                {"store.rollups.keep", "store.windows.keep", "store.archives.length"},
                "is shorter than store.windows.keep or store.archives.length", "write a longer time");
        require(store.archive_age >= store.rollup_age, {"store.archives.keep", "store.rollups.keep"},
                "is shorter than store.rollups.keep", "write at least " + DurationFormat{}.print(store.rollup_age));
    }

    void check_triggers() {
        const Options& o = loaded_.options;
        const auto& rules = o.triggers.rules;
        for (std::size_t i = 0; i < rules.size(); ++i) {
            const bool first = std::ranges::find(rules, rules[i].name, &TriggerRule::name) - rules.begin() ==
                               static_cast<std::ptrdiff_t>(i);
            require(first, {"triggers.rules"}, "two rules are called " + rules[i].name, "give each its own name");
        }
        require(rules.size() <= kMostRules, {"triggers.rules"},
                "has more than " + std::to_string(kMostRules) + " rules", "write fewer");
        require(rules.empty() || o.captures.enabled, {"triggers.rules", "captures.enabled"},
                "needs captures.enabled: without captures there is nothing to freeze",
                "set captures.enabled: true, or remove the rules");
        require(rules.empty() || !o.hides(),
                {"triggers.rules", "exclude.units", "exclude.comms", "exclude.users", "redact"},
                "freezes captures, which are not kept where anything is excluded or redacted",
                "remove the rules, or exclude and redact");
        require(o.triggers.capture_duration <= o.on_demand.longest, {"triggers.capture.duration", "on_demand.longest"},
                "is longer than on_demand.longest", "write at most " + DurationFormat{}.print(o.on_demand.longest));
    }

    // The first of `keys` bears the fault.
    void require(bool holds, std::initializer_list<std::string_view> keys, std::string why, std::string suggestion) {
        if (holds) return;
        if (std::ranges::any_of(keys, [&](std::string_view key) { return refused_.contains(std::string(key)); }))
            return;
        const std::string key(*keys.begin());
        refused_.insert(key);
        const auto line = lines_.find(key);
        loaded_.faults.push_back({line == lines_.end() ? 0 : line->second, key, std::move(why), std::move(suggestion)});
    }

    Loaded& loaded_;
    std::map<std::string, int> lines_;
    std::set<std::string> refused_;
};

void append_comment(std::string& out, std::string_view comment, std::size_t indent) {
    const std::string margin = std::string(indent, ' ') + "#";
    std::string line = margin;
    for (const auto word : split(comment, ' ')) {
        if (line.size() + 1 + word.size() > kCommentWidth && line.size() > margin.size()) {
            out += line + "\n";
            line = margin;
        }
        line += ' ';
        line += word;
    }
    out += line + "\n";
}

// Opens the sections that lie between the previous key and this one. Returns the indent of the key itself.
std::size_t open_sections(std::string& out, std::string_view previous, std::string_view name) {
    std::size_t indent = 0;
    bool same = true;
    std::string_view rest = name;
    std::string_view before = previous;
    while (rest.find('.') != std::string_view::npos) {
        const auto section = next_piece(rest, '.');
        const bool had = before.find('.') != std::string_view::npos;
        same = same && had && next_piece(before, '.') == section;
        if (!same) {
            if (indent == 0) out += "\n";
            out += std::string(indent, ' ') + std::string(section) + ":\n";
        }
        indent += 2;
    }
    if (indent == 0) out += "\n";
    return indent;
}

}  // namespace

Loaded load_text(std::string_view yaml) {
    Loaded loaded;
    YamlDocument document = parse_yaml(yaml);
    loaded.faults = std::move(document.faults);
    for (const auto& setting : document.settings) apply(setting, loaded);
    Relations(document.settings, loaded).check();
    std::ranges::stable_sort(loaded.faults, {}, &Fault::line);
    return loaded;
}

Loaded load_file(const std::string& path) {
    const auto text = read_file(path, kMaxFile);
    if (text) return load_text(*text);
    Loaded loaded;
    loaded.faults.push_back({0, "", text.error().message, "name the file with --config FILE"});
    return loaded;
}

std::string print_yaml(const Options& options) {
    std::string out = "# Configuration of perfvigild: every key with its meaning. What is left out has its default.\n";
    std::string_view previous;
    for (const auto& key : keys()) {
        const auto indent = open_sections(out, previous, key.name);
        append_comment(out, key.comment, indent);
        out += std::string(indent, ' ') + std::string(key.name.substr(key.name.rfind('.') + 1)) + ": " +
               key.print(options) + "\n";
        previous = key.name;
    }
    return out;
}

Difference difference(const Options& now, const Options& next) {
    Difference result;
    for (const auto& key : keys()) {
        if (key.print(now) == key.print(next)) continue;
        (key.reload == Key::Reload::kLive ? result.live : result.restart).push_back(key.name);
    }
    return result;
}

Options with_live_keys(const Options& now, const Options& next) {
    Options result = now;
    for (const auto& key : keys()) {
        if (key.reload == Key::Reload::kLive) key.copy(next, result);
    }
    return result;
}

}  // namespace perfvigil::config
