// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/annotation.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <boost/json.hpp>

#include "analyzer/text_table.hpp"
#include "base/text.hpp"

namespace perfvigil::analyzer {
namespace {

std::optional<SourceLine> line_at(const SourceLines* lines, std::uint64_t address) {
    return lines == nullptr ? std::nullopt : lines->find(LinkAddress{address});
}

void sum_lines(Annotation& annotation) {
    for (const auto& instruction : annotation.instructions) {
        if (instruction.samples == 0 || !instruction.line) continue;
        auto at = std::ranges::find(annotation.lines, *instruction.line, &AnnotatedLine::line);
        if (at == annotation.lines.end()) {
            at = annotation.lines.insert(annotation.lines.end(), AnnotatedLine{.line = *instruction.line});
        }
        at->samples += instruction.samples;
        at->weight += instruction.weight;
    }
    std::ranges::stable_sort(annotation.lines, [](const AnnotatedLine& a, const AnnotatedLine& b) {
        if (a.weight != b.weight) return a.weight > b.weight;
        return a.line.file != b.line.file ? a.line.file < b.line.file : a.line.line < b.line.line;
    });
}

std::string percent(std::uint64_t part, std::uint64_t whole) {
    return whole == 0 ? "-" : fmt::format("{:.2f}", 100.0 * static_cast<double>(part) / static_cast<double>(whole));
}

std::string where(const SourceLine& line) { return fmt::format("{}:{}", base_name(line.file), line.line); }

// Which instructions are worth a row: those with samples and some around them.
std::vector<bool> shown_rows(const Annotation& annotation, std::size_t context) {
    const auto& all = annotation.instructions;
    std::vector<bool> shown(all.size(), false);
    for (std::size_t i = 0; i < all.size(); ++i) {
        if (all[i].samples == 0) continue;
        const std::size_t first = i - std::min(i, context);
        const std::size_t last = std::min(all.size() - 1, i + context);
        std::fill(shown.begin() + static_cast<std::ptrdiff_t>(first),
                  shown.begin() + static_cast<std::ptrdiff_t>(last) + 1, true);
    }
    return shown;
}

}  // namespace

Annotation annotate(const CountedFunction& function, const std::string& event, const std::vector<Instruction>& code,
                    const SourceLines* lines, std::uint64_t shift) {
    Annotation made;
    made.event = event;
    made.function = function.name;
    made.dso = function.dso_name;
    for (const auto& instruction : code) {
        made.instructions.push_back({.address = instruction.address,
                                     .size = instruction.size,
                                     .text = instruction.text,
                                     .line = line_at(lines, instruction.address)});
    }
    for (const auto& [address, count] : function.addresses) {
        made.samples += count.samples;
        made.weight += count.weight;
        const std::uint64_t at = address + shift;
        auto row = std::ranges::upper_bound(made.instructions, at, {}, &AnnotatedInstruction::address);
        const bool inside = row != made.instructions.begin() && at - std::prev(row)->address < std::prev(row)->size;
        if (!inside) {
            // Only without machine code: every address that was sampled is a row of its own.
            row = made.instructions.insert(row, AnnotatedInstruction{.address = at, .line = line_at(lines, at)});
        } else {
            --row;
        }
        row->samples += count.samples;
        row->weight += count.weight;
    }
    sum_lines(made);
    return made;
}

std::string annotation_text(const Annotation& annotation, const AnnotationOptions& options) {
    std::string out = fmt::format("{} in {}: {} samples of {}\n", escape(annotation.function), escape(annotation.dso),
                                  annotation.samples, escape(annotation.event));
    for (const auto& note : annotation.notes) out += "  " + escape(note) + "\n";
    if (!annotation.lines.empty()) {
        TextTable table;
        table.column("%", TextTable::Align::kRight).column("samples", TextTable::Align::kRight);
        table.column("source line", TextTable::Align::kLeft);
        for (const auto& row : annotation.lines) {
            if (options.lines != 0 && table.size() == options.lines) break;
            table.row({percent(row.weight, annotation.weight), std::to_string(row.samples),
                       fmt::format("{}:{}", row.line.file, row.line.line)});
        }
        out += "\n" + table.render(options.width);
    }
    TextTable table;
    table.column("%", TextTable::Align::kRight).column("samples", TextTable::Align::kRight);
    table.column("address", TextTable::Align::kRight).column("line", TextTable::Align::kLeft);
    table.column("instruction", TextTable::Align::kLeft);
    const auto shown = shown_rows(annotation, options.context);
    bool gap = false;
    std::string last_line;
    for (std::size_t i = 0; i < annotation.instructions.size(); ++i) {
        const auto& row = annotation.instructions[i];
        if (!shown[i]) {
            gap = true;
            continue;
        }
        if (gap && !table.empty()) table.row({"", "", "…", "", ""});
        if (gap) last_line.clear();
        gap = false;
        std::string line = row.line ? where(*row.line) : std::string();
        table.row({row.samples == 0 ? "" : percent(row.weight, annotation.weight),
                   row.samples == 0 ? "" : std::to_string(row.samples), fmt::format("{:x}", row.address),
                   line == last_line ? "" : line, row.text});
        last_line = std::move(line);
    }
    return out + "\n" + table.render(options.width);
}

std::string annotation_json(const std::vector<Annotation>& annotations) {
    namespace json = boost::json;
    json::array functions;
    for (const auto& annotation : annotations) {
        json::array instructions, lines, notes;
        for (const auto& row : annotation.instructions) {
            json::object object{
                {"address", fmt::format("{:#x}", row.address)}, {"samples", row.samples}, {"period", row.weight}};
            if (!row.text.empty()) object["instruction"] = row.text;
            if (row.line) {
                object["file"] = row.line->file;
                object["line"] = row.line->line;
            }
            instructions.push_back(std::move(object));
        }
        for (const auto& row : annotation.lines) {
            lines.push_back(
                {{"file", row.line.file}, {"line", row.line.line}, {"samples", row.samples}, {"period", row.weight}});
        }
        for (const auto& note : annotation.notes) notes.push_back(json::string(escape(note)));
        functions.push_back({{"event", escape(annotation.event)},
                             {"symbol", escape(annotation.function)},
                             {"dso", escape(annotation.dso)},
                             {"samples", annotation.samples},
                             {"period", annotation.weight},
                             {"instructions", std::move(instructions)},
                             {"lines", std::move(lines)},
                             {"notes", std::move(notes)}});
    }
    return json::serialize(json::object{{"schema", 1}, {"functions", std::move(functions)}}) + "\n";
}

}  // namespace perfvigil::analyzer
