// SPDX-License-Identifier: GPL-2.0-or-later
#include "config/yaml.hpp"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <map>
#include <optional>
#include <sstream>

#include "base/text.hpp"

namespace perfvigil::config {
namespace {

constexpr std::size_t kMaxText = 1U << 20;
constexpr std::size_t kMaxDepth = 8;
constexpr std::size_t kMaxSettings = 1000;
constexpr std::size_t kMaxValues = 1000;

int line_of(const YAML::Mark& mark) { return mark.is_null() ? 0 : mark.line + 1; }

// Follows the parser's events through nested maps. A map is a level with the key that is waiting for its value; lists
// hold scalars only.
class Flattener final : public YAML::EventHandler {
public:
    explicit Flattener(YamlDocument& out) : out_(out) {}

    void OnDocumentStart(const YAML::Mark&) override {}
    void OnDocumentEnd() override {}

    void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
        if (skipped_ > 0) return;
        fault(mark, "aliases are not supported", "write the value out");
        if (is_key())
            take_key(mark, "?");
        else
            value_done();
    }
    void OnNull(const YAML::Mark& mark, YAML::anchor_t) override {
        if (skipped_ > 0) return;
        if (is_key()) {
            fault(mark, "a key is missing before ':'", "");
            take_key(mark, "");
        } else if (in_list_) {
            fault(mark, "an entry of the list is empty", "remove the entry");
        } else if (!levels_.empty()) {
            store({path(), line_of(mark), Setting::Shape::kEmpty, {}});
        }
    }
    void OnScalar(const YAML::Mark& mark, const std::string&, YAML::anchor_t, const std::string& value) override {
        if (skipped_ > 0) return;
        if (levels_.empty()) {
            fault(mark, "the file is one value, not keys with values", "write \"section:\" and its keys below");
        } else if (is_key()) {
            take_key(mark, value);
        } else if (in_list_) {
            add_to_list(mark, value);
        } else {
            store({path(), levels_.back().line, Setting::Shape::kScalar, {value}});
        }
    }
    void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                         YAML::EmitterStyle::value) override {
        if (skipped_ > 0 || in_list_ || is_key() || levels_.empty()) return begin_skip(mark);
        in_list_ = true;
        list_ = {path(), levels_.back().line, Setting::Shape::kList, {}};
    }
    void OnSequenceEnd() override {
        if (end_skip()) return;
        in_list_ = false;
        store(std::move(list_));
    }
    void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {
        if (skipped_ > 0 || in_list_ || is_key() || levels_.size() >= kMaxDepth) return begin_skip(mark);
        levels_.emplace_back();
    }
    void OnMapEnd() override {
        if (end_skip()) return;
        levels_.pop_back();
        value_done();
    }

private:
    struct Level {
        std::optional<std::string> key;  // waiting for its value
        int line = 0;
    };

    [[nodiscard]] bool is_key() const { return !levels_.empty() && !levels_.back().key && !in_list_; }

    [[nodiscard]] std::string path() const {
        std::string path;
        for (const auto& level : levels_) {
            if (!level.key) break;
            if (!path.empty()) path += '.';
            path += *level.key;
        }
        return path;
    }

    void fault(const YAML::Mark& mark, std::string why, std::string suggestion) {
        if (out_.faults.size() < kMaxSettings) {
            out_.faults.push_back({line_of(mark), path(), std::move(why), std::move(suggestion)});
        }
    }

    void take_key(const YAML::Mark& mark, const std::string& key) {
        levels_.back().key = key;
        levels_.back().line = line_of(mark);
    }

    void value_done() {
        if (skipped_ == 0 && !in_list_ && !levels_.empty()) levels_.back().key.reset();
    }

    void add_to_list(const YAML::Mark& mark, const std::string& value) {
        if (list_.values.size() < kMaxValues) {
            list_.values.push_back(value);
        } else if (list_.values.size() == kMaxValues) {
            fault(mark, "the list has more than " + std::to_string(kMaxValues) + " entries", "");
            list_.values.push_back(value);
        }
    }

    void store(Setting setting) {
        const auto [first, inserted] = lines_.emplace(setting.key, setting.line);
        if (!inserted) {
            out_.faults.push_back({setting.line, setting.key,
                                   "given twice, first on line " + std::to_string(first->second), "remove one"});
        } else if (out_.settings.size() < kMaxSettings) {
            out_.settings.push_back(std::move(setting));
        } else if (!overflow_) {
            overflow_ = true;
            out_.faults.push_back({setting.line, "", "more than " + std::to_string(kMaxSettings) + " keys", ""});
        }
        value_done();
    }

    // A map or list where none can be: its whole content is passed over.
    void begin_skip(const YAML::Mark& mark) {
        if (skipped_ == 0) {
            std::string why = "a list or section cannot stand here";
            if (levels_.size() >= kMaxDepth) why = "nested deeper than " + std::to_string(kMaxDepth) + " levels";
            fault(mark, std::move(why), "");
            skipped_key_ = is_key();
        }
        ++skipped_;
    }
    bool end_skip() {
        if (skipped_ == 0) return false;
        if (--skipped_ > 0) return true;
        // A skipped thing in a key's place is that key; its value follows.
        if (skipped_key_)
            levels_.back().key = "?";
        else
            value_done();
        return true;
    }

    YamlDocument& out_;
    std::vector<Level> levels_;
    std::map<std::string, int> lines_;
    Setting list_;
    bool in_list_ = false;
    bool overflow_ = false;
    bool skipped_key_ = false;
    std::size_t skipped_ = 0;
};

}  // namespace

YamlDocument parse_yaml(std::string_view text) {
    YamlDocument document;
    if (text.size() > kMaxText) {
        document.faults.push_back({0, "", "larger than " + human_bytes(kMaxText), ""});
        return document;
    }
    std::istringstream stream{std::string(text)};
    try {
        YAML::Parser parser(stream);
        Flattener flattener(document);
        parser.HandleNextDocument(flattener);
        if (parser) {
            YamlDocument second;
            Flattener ignored(second);
            if (parser.HandleNextDocument(ignored) && !second.settings.empty()) {
                document.faults.push_back({second.settings.front().line, "",
                                           "a second document begins before this line", "remove the line \"---\""});
            }
        }
    } catch (const YAML::Exception& error) {
        // What was made of the text up to here may be anything.
        document = {};
        document.faults.push_back({line_of(error.mark), "", "not YAML: " + escape(error.msg), ""});
    }
    return document;
}

}  // namespace perfvigil::config
