// SPDX-License-Identifier: GPL-2.0-or-later
// Writes pprof profiles by hand, for tests and fuzz seeds.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <protozero/pbf_writer.hpp>

namespace perfvigil::test {

class PprofBytes {
public:
    PprofBytes() { (void)text(""); }

    [[nodiscard]] std::uint64_t text(const std::string& value) {
        const auto [at, added] = numbers_.emplace(value, numbers_.size());
        if (added) strings_.push_back(value);
        return at->second;
    }
    void type(const std::string& type, const std::string& unit) {
        std::string bytes;
        protozero::pbf_writer w(bytes);
        w.add_int64(1, static_cast<std::int64_t>(text(type)));
        w.add_int64(2, static_cast<std::int64_t>(text(unit)));
        message(1, bytes);
    }
    void mapping(std::uint64_t id, const std::string& file, const std::string& build_id = "") {
        std::string bytes;
        protozero::pbf_writer w(bytes);
        w.add_uint64(1, id);
        w.add_int64(5, static_cast<std::int64_t>(text(file)));
        w.add_int64(6, static_cast<std::int64_t>(text(build_id)));
        message(3, bytes);
    }
    void function(std::uint64_t id, const std::string& name) {
        std::string bytes;
        protozero::pbf_writer w(bytes);
        w.add_uint64(1, id);
        w.add_int64(2, static_cast<std::int64_t>(text(name)));
        message(5, bytes);
    }
    // Functions: the innermost inlined one first.
    void location(std::uint64_t id, std::uint64_t mapping, std::initializer_list<std::uint64_t> functions) {
        std::string bytes;
        protozero::pbf_writer w(bytes);
        w.add_uint64(1, id);
        w.add_uint64(2, mapping);
        for (const auto function : functions) {
            std::string line;
            protozero::pbf_writer(line).add_uint64(1, function);
            w.add_message(4, line);
        }
        message(4, bytes);
    }
    void sample(const std::vector<std::uint64_t>& locations, const std::vector<std::int64_t>& values,
                const std::vector<std::pair<std::string, std::string>>& labels = {}) {
        std::string bytes;
        protozero::pbf_writer w(bytes);
        w.add_packed_uint64(1, locations.begin(), locations.end());
        w.add_packed_int64(2, values.begin(), values.end());
        for (const auto& [key, value] : labels) {
            std::string label;
            protozero::pbf_writer l(label);
            l.add_int64(1, static_cast<std::int64_t>(text(key)));
            l.add_int64(2, static_cast<std::int64_t>(text(value)));
            w.add_message(3, label);
        }
        message(2, bytes);
    }
    void number(std::uint32_t field, std::int64_t value) { protozero::pbf_writer(bytes_).add_int64(field, value); }
    void period_type(const std::string& type, const std::string& unit) {
        std::string bytes;
        protozero::pbf_writer w(bytes);
        w.add_int64(1, static_cast<std::int64_t>(text(type)));
        w.add_int64(2, static_cast<std::int64_t>(text(unit)));
        message(11, bytes);
    }
    [[nodiscard]] std::string finish() const {
        std::string all = bytes_;
        protozero::pbf_writer w(all);
        for (const auto& value : strings_) w.add_string(6, value);
        return all;
    }

private:
    void message(std::uint32_t field, const std::string& bytes) {
        protozero::pbf_writer(bytes_).add_message(field, bytes);
    }

    std::string bytes_;
    std::vector<std::string> strings_;
    std::map<std::string, std::uint64_t> numbers_;
};

}  // namespace perfvigil::test
