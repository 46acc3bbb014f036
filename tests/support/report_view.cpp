// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/support/report_view.hpp"

#include <stdexcept>

#include "tests/support/client.hpp"
#include "tests/support/paths.hpp"

namespace perfvigil::test {

std::string output_of(const std::string& program, std::vector<std::string> arguments) {
    std::string words = program;
    for (const auto& argument : arguments) words += " " + argument;
    Client client(program, std::move(arguments));
    auto text = client.output();
    if (client.exit_status() != 0) {
        throw std::runtime_error(words + ": status " + std::to_string(client.exit_status()));
    }
    return text;
}

ReportView::ReportView(std::string_view text) : root_(boost::json::parse(text).as_object()) {}

ReportView ReportView::of_perfvigil(std::vector<std::string> arguments) {
    return ReportView(output_of(test::kPerfvigil, std::move(arguments)));
}

const boost::json::object& ReportView::event(std::string_view name) const {
    for (const auto& event : root_.at("events").as_array()) {
        if (event.as_object().at("name").as_string() == name) return event.as_object();
    }
    throw std::runtime_error("no event " + std::string(name));
}

std::uint64_t ReportView::function(std::string_view event_name, std::string_view symbol, std::string_view field) const {
    std::uint64_t sum = 0;
    for (const auto& row : event(event_name).at("functions").as_array()) {
        if (row.as_object().at("symbol").as_string() == symbol)
            sum += row.as_object().at(field).to_number<std::uint64_t>();
    }
    return sum;
}

const boost::json::object& ReportView::row(std::string_view list, unsigned cpu) const {
    for (const auto& row : root_.at(list).as_array()) {
        if (row.as_object().at("cpu").to_number<unsigned>() == cpu) return row.as_object();
    }
    throw std::runtime_error(std::string(list) + ": no cpu " + std::to_string(cpu));
}

ReportView::Cpu ReportView::cpu(unsigned number) const {
    const auto& cpu = row("cpus", number);
    return {.samples = cpu.at("samples").to_number<std::uint64_t>(),
            .idle_samples = cpu.at("idle_samples").to_number<std::uint64_t>(),
            .lost = cpu.at("lost").to_number<std::uint64_t>(),
            .ticks_due = cpu.at("ticks_due").to_number<double>(),
            .seconds = cpu.at("seconds").to_number<double>(),
            .busy = cpu.at("busy").to_number<double>()};
}

double ReportView::ledger(unsigned cpu, std::string_view term) const {
    return row("ledger", cpu).at(term).to_number<double>();
}

std::vector<unsigned> ReportView::cpus() const {
    std::vector<unsigned> numbers;
    for (const auto& row : root_.at("cpus").as_array())
        numbers.push_back(row.as_object().at("cpu").to_number<unsigned>());
    return numbers;
}

bool ReportView::degraded(std::string_view reason) const {
    for (const auto& row : root_.at("degraded").as_array()) {
        if (row.as_object().at("reason").as_string() == reason) return true;
    }
    return false;
}

}  // namespace perfvigil::test
