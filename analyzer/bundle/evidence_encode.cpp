// SPDX-License-Identifier: GPL-2.0-or-later
// The writing half of evidence_codec.hpp.
#include <zstd.h>

#include <algorithm>
#include <new>
#include <string>

#include <protozero/pbf_writer.hpp>

#include "analyzer/bundle/evidence_codec.hpp"
#include "analyzer/bundle/evidence_fields.hpp"

namespace perfvigil::analyzer {
namespace {

namespace field = evidence_field;
using protozero::pbf_writer;

constexpr int kCompressionLevel = 9;

template <class Row, class ValueOf>
void column(pbf_writer& writer, std::uint32_t tag, const std::vector<Row>& rows, ValueOf&& value_of) {
    std::vector<std::uint64_t> values;
    values.reserve(rows.size());
    for (const auto& row : rows) values.push_back(value_of(row));
    writer.add_packed_uint64(tag, values.begin(), values.end());
}

void texts(pbf_writer& writer, std::uint32_t tag, const std::vector<std::string>& all) {
    for (const auto& text : all) writer.add_string(tag, text);
}

void symbols(pbf_writer& writer, const std::vector<EvidenceSymbol>& all) {
    column(writer, field::kSymbolNames, all, [](const auto& symbol) { return symbol.name; });
    column(writer, field::kSymbolDsos, all, [](const auto& symbol) { return symbol.dso; });
    column(writer, field::kSymbolStarts, all, [](const auto& symbol) { return symbol.start; });
    column(writer, field::kSymbolSizes, all, [](const auto& symbol) { return symbol.size; });
    column(writer, field::kSymbolReasons, all,
           [](const auto& symbol) { return static_cast<std::uint64_t>(symbol.reason); });
}

void chains(pbf_writer& writer, const std::vector<EvidenceChain>& all) {
    column(writer, field::kChainLengths, all, [](const auto& chain) { return chain.size(); });
    EvidenceChain frames;
    for (const auto& chain : all) frames.insert(frames.end(), chain.begin(), chain.end());
    column(writer, field::kFrameFunctions, frames, [](const auto& frame) { return frame.function; });
    column(writer, field::kFrameFiles, frames, [](const auto& frame) { return frame.file; });
    column(writer, field::kFrameLines, frames, [](const auto& frame) { return frame.line; });
}

void build_id(pbf_writer& writer, std::uint32_t tag, const BuildId& known) {
    const Bytes id = known.bytes();
    if (!id.empty()) writer.add_bytes(tag, reinterpret_cast<const char*>(id.data()), id.size());
}

void dso_fields(pbf_writer writer, const EvidenceDso& dso) {
    writer.add_uint32(field::kDsoKind, static_cast<std::uint32_t>(dso.kind));
    writer.add_uint32(field::kDsoPath, dso.path);
    build_id(writer, field::kDsoBuildId, dso.build_id);
    writer.add_uint32(field::kDsoMajor, dso.major);
    writer.add_uint32(field::kDsoMinor, dso.minor);
    writer.add_uint64(field::kDsoInode, dso.inode);
    writer.add_uint64(field::kDsoInodeGeneration, dso.inode_generation);
    writer.add_sint64(field::kDsoPid, dso.pid.value);
    writer.add_uint32(field::kDsoFunction, dso.function);
    writer.add_uint64(field::kDsoStart, dso.start);
    build_id(writer, field::kDsoFileBuildId, dso.file_build_id);
    writer.add_uint32(field::kDsoPackage, dso.package);
    writer.add_uint32(field::kDsoPackageVersion, dso.package_version);
    std::uint64_t before = 0;
    column(writer, field::kDsoOffsets, dso.addresses, [&](const auto& address) {
        const std::uint64_t step = address.offset - before;
        before = address.offset;
        return step;
    });
    column(writer, field::kDsoSymbols, dso.addresses, [](const auto& address) { return address.symbol; });
    column(writer, field::kDsoChains, dso.addresses, [](const auto& address) { return address.chain; });
}

void code_fields(pbf_writer writer, const EvidenceCode& code) {
    writer.add_uint32(field::kCodeDso, code.dso);
    writer.add_uint64(field::kCodeStart, code.start);
    writer.add_uint64(field::kCodeShift, code.shift);
    writer.add_uint32(field::kCodeMachine, code.machine);
    writer.add_bool(field::kCodeBigEndian, code.big_endian);
    writer.add_bool(field::kCodeNarrow, !code.wide);
    writer.add_bytes(field::kCodeBytes, code.code);
    writer.add_bool(field::kCodeHasLines, code.has_lines);
    column(writer, field::kCodeLineOffsets, code.lines, [](const auto& line) { return line.offset; });
    column(writer, field::kCodeLineFiles, code.lines, [](const auto& line) { return line.file; });
    column(writer, field::kCodeLineNumbers, code.lines, [](const auto& line) { return line.line; });
    texts(writer, field::kCodeNotes, code.notes);
}

void unwound(pbf_writer& writer, const Evidence& evidence) {
    column(writer, field::kStackLengths, evidence.stacks, [](const auto& stack) { return stack.size(); });
    EvidenceStack addresses;
    for (const auto& stack : evidence.stacks) addresses.insert(addresses.end(), stack.begin(), stack.end());
    column(writer, field::kStackAddresses, addresses, [](std::uint64_t address) { return address; });
    std::uint64_t before = 0;
    column(writer, field::kUnwoundSamples, evidence.unwound, [&](const auto& row) {
        const std::uint64_t step = row.sample - before;
        before = row.sample;
        return step;
    });
    column(writer, field::kUnwoundStacks, evidence.unwound, [](const auto& row) { return row.stack; });
    column(writer, field::kUnwoundFlags, evidence.unwound, [](const auto& row) { return row.flags; });
    texts(writer, field::kUnwinding, evidence.unwinding);
}

void placements(pbf_writer& writer, const std::vector<EvidencePlacement>& all) {
    column(writer, field::kPlacementDsos, all, [](const auto& row) { return row.dso; });
    column(writer, field::kPlacementTimes, all, [](const auto& row) { return to_ns(row.code.time); });
    column(writer, field::kPlacementStarts, all, [](const auto& row) { return row.code.start; });
    column(writer, field::kPlacementSizes, all, [](const auto& row) { return row.code.size; });
    column(writer, field::kPlacementCodes, all, [](const auto& row) { return row.code.code; });
}

std::string plain_form(const Evidence& evidence) {
    std::string out;
    pbf_writer writer(out);
    writer.add_uint32(field::kVersion, kEvidenceVersion);
    writer.add_string(field::kProgram, evidence.program);
    writer.add_sint64(field::kMade, evidence.made.time_since_epoch().count());
    texts(writer, field::kStrings, evidence.strings);
    symbols(writer, evidence.symbols);
    chains(writer, evidence.chains);
    for (const auto& dso : evidence.dsos) dso_fields(pbf_writer(writer, field::kDsos), dso);
    column(writer, field::kTextStarts, evidence.kernel_text, [](const auto& text) { return text.start; });
    column(writer, field::kTextSizes, evidence.kernel_text, [](const auto& text) { return text.size; });
    column(writer, field::kTextClasses, evidence.kernel_text, [](const auto& text) { return text.text_class; });
    texts(writer, field::kRefusals, evidence.refusals);
    texts(writer, field::kNotes, evidence.notes);
    texts(writer, field::kLineSentences, evidence.line_sentences);
    texts(writer, field::kModuleLineSentences, evidence.module_line_sentences);
    for (const auto& degraded : evidence.degraded) {
        pbf_writer message(writer, field::kDegraded);
        message.add_string(field::kReason, degraded.reason);
        message.add_string(field::kDetail, degraded.detail);
        message.add_string(field::kRemedy, degraded.remedy);
    }
    unwound(writer, evidence);
    placements(writer, evidence.placements);
    for (const auto& code : evidence.codes) code_fields(pbf_writer(writer, field::kCodes), code);
    writer.add_uint64(field::kFunctionsWithoutCode, evidence.functions_without_code);
    return out;
}

}  // namespace

std::vector<std::byte> encode_evidence(const Evidence& evidence) {
    const std::string plain = plain_form(evidence);
    std::vector<std::byte> out(ZSTD_compressBound(plain.size()));
    const std::size_t size = ZSTD_compress(out.data(), out.size(), plain.data(), plain.size(), kCompressionLevel);
    // With room for the worst case only memory can be missing.
    if (ZSTD_isError(size) != 0) throw std::bad_alloc();
    out.resize(size);
    return out;
}

}  // namespace perfvigil::analyzer
