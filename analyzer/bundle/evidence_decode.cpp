// SPDX-License-Identifier: GPL-2.0-or-later
// The reading half of evidence_codec.hpp.
#include <algorithm>
#include <exception>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <protozero/pbf_reader.hpp>

#include "analyzer/bundle/evidence_codec.hpp"
#include "analyzer/bundle/evidence_fields.hpp"
#include "collector/zstd_stream.hpp"

namespace perfvigil::analyzer {
namespace {

namespace field = evidence_field;

// A message costs its writer two bytes and us hundreds.
constexpr std::size_t kMostDsos = 1U << 20;
constexpr std::size_t kMostStacks = 1U << 22;
constexpr std::size_t kMostCodes = 65536;
constexpr std::size_t kMostDegraded = 1024;
constexpr std::size_t kMostFrames = 1024;  // of one chain; the child gives 256
constexpr std::int64_t kFarthestTime = std::int64_t{1} << 61;

[[noreturn]] void damaged(const char* what) { throw std::runtime_error(what); }

// The fields of one message. protozero asserts wire types, here they are checked. Throws std::exception on damage.
class Message {
public:
    explicit Message(protozero::data_view bytes) {
        protozero::pbf_reader reader(bytes);
        while (reader.next()) {
            Field found{.tag = reader.tag(), .type = reader.wire_type()};
            switch (found.type) {
                case protozero::pbf_wire_type::varint: found.number = reader.get_uint64(); break;
                case protozero::pbf_wire_type::length_delimited: found.bytes = reader.get_view(); break;
                default: reader.skip(); continue;
            }
            fields_.push_back(found);
            if (fields_.size() > 65536 + bytes.size() / 4) damaged("more parts than its size allows");
        }
    }

    template <class T = std::uint64_t>
    [[nodiscard]] T number(std::uint32_t tag) const {
        std::uint64_t value = 0;
        for (const auto& found : fields_) {
            if (found.tag == tag) value = checked(found, protozero::pbf_wire_type::varint).number;
        }
        if (value > std::numeric_limits<T>::max()) damaged("a number is out of range");
        return static_cast<T>(value);
    }
    [[nodiscard]] std::int64_t signed_number(std::uint32_t tag) const {
        return protozero::decode_zigzag64(number<std::uint64_t>(tag));
    }
    [[nodiscard]] std::string text(std::uint32_t tag) const {
        std::string value;
        each(tag, [&](protozero::data_view bytes) { value.assign(bytes.data(), bytes.size()); });
        return value;
    }
    [[nodiscard]] std::vector<std::string> texts(std::uint32_t tag) const {
        std::vector<std::string> values;
        each(tag, [&](protozero::data_view bytes) { values.emplace_back(bytes.data(), bytes.size()); });
        return values;
    }
    // Of the rows that another column has made.
    template <class Row, class Set>
    void column(std::uint32_t tag, std::vector<Row>& rows, Set&& set) const {
        std::size_t count = 0;
        each_number(tag, [&](std::uint64_t value) {
            if (count == rows.size()) damaged("columns of different lengths");
            set(rows[count++], value);
        });
        if (count != rows.size()) damaged("columns of different lengths");
    }
    template <class Row, class Set>
    void first_column(std::uint32_t tag, std::vector<Row>& rows, Set&& set) const {
        each_number(tag, [&](std::uint64_t value) { set(rows.emplace_back(), value); });
    }
    template <class Visit>
    void each(std::uint32_t tag, Visit&& visit) const {
        for (const auto& found : fields_) {
            if (found.tag == tag) visit(checked(found, protozero::pbf_wire_type::length_delimited).bytes);
        }
    }
    template <class Visit>
    void each_number(std::uint32_t tag, Visit&& visit) const {
        each(tag, [&](protozero::data_view bytes) {
            const char* at = bytes.data();
            const char* const end = at + bytes.size();
            while (at != end) visit(protozero::decode_varint(&at, end));
        });
    }

private:
    struct Field {
        std::uint32_t tag = 0;
        protozero::pbf_wire_type type{};
        std::uint64_t number = 0;
        protozero::data_view bytes{};
    };
    static const Field& checked(const Field& found, protozero::pbf_wire_type type) {
        if (found.type != type) damaged("a field of another type");
        return found;
    }

    std::vector<Field> fields_;
};

// Stores a number that must be below `limit`.
auto into(std::uint32_t& target, std::size_t limit) {
    return [&target, limit](std::uint64_t value) {
        if (value >= limit) damaged("a number of nothing");
        target = static_cast<std::uint32_t>(value);
    };
}
std::uint32_t narrow(std::uint64_t value) {
    if (value > std::numeric_limits<std::uint32_t>::max()) damaged("a number is out of range");
    return static_cast<std::uint32_t>(value);
}

void read_symbols(const Message& message, Evidence& evidence) {
    const std::size_t strings = evidence.strings.size();
    auto& rows = evidence.symbols;
    message.first_column(field::kSymbolNames, rows, [&](auto& row, auto value) { into(row.name, strings)(value); });
    message.column(field::kSymbolDsos, rows, [&](auto& row, auto value) { into(row.dso, strings)(value); });
    message.column(field::kSymbolStarts, rows, [](auto& row, auto value) { row.start = value; });
    message.column(field::kSymbolSizes, rows, [](auto& row, auto value) { row.size = value; });
    message.column(field::kSymbolReasons, rows, [](auto& row, auto value) {
        if (value > static_cast<std::uint64_t>(UnknownReason::kUnmapped)) damaged("an unknown reason");
        row.reason = static_cast<UnknownReason>(value);
    });
}

void read_chains(const Message& message, Evidence& evidence) {
    const std::size_t strings = evidence.strings.size();
    EvidenceChain frames;
    message.first_column(field::kFrameFunctions, frames,
                         [&](auto& row, auto value) { into(row.function, strings)(value); });
    message.column(field::kFrameFiles, frames, [&](auto& row, auto value) { into(row.file, strings)(value); });
    message.column(field::kFrameLines, frames, [](auto& row, auto value) { row.line = narrow(value); });
    std::size_t next = 0;
    message.each_number(field::kChainLengths, [&](std::uint64_t length) {
        if (length == 0 || length > std::min(frames.size() - next, kMostFrames))
            damaged("a chain longer than its frames");
        const auto first = frames.begin() + static_cast<std::ptrdiff_t>(next);
        evidence.chains.emplace_back(first, first + static_cast<std::ptrdiff_t>(length));
        next += length;
    });
    if (next != frames.size()) damaged("frames of no chain");
}

BuildId read_build_id(const Message& message, std::uint32_t tag) {
    const std::string id = message.text(tag);
    return BuildId(std::as_bytes(std::span(id)));
}

EvidenceDso read_dso(const Message& message, const Evidence& evidence) {
    EvidenceDso dso;
    const auto kind = message.number<std::uint32_t>(field::kDsoKind);
    if (kind > static_cast<std::uint32_t>(collector::DsoKind::kKernelCode)) damaged("an unknown kind of binary");
    dso.kind = static_cast<collector::DsoKind>(kind);
    into(dso.path, evidence.strings.size())(message.number(field::kDsoPath));
    dso.build_id = read_build_id(message, field::kDsoBuildId);
    dso.major = message.number<std::uint32_t>(field::kDsoMajor);
    dso.minor = message.number<std::uint32_t>(field::kDsoMinor);
    dso.inode = message.number(field::kDsoInode);
    dso.inode_generation = message.number(field::kDsoInodeGeneration);
    const std::int64_t pid = message.signed_number(field::kDsoPid);
    if (pid < std::numeric_limits<std::int32_t>::min() || pid > std::numeric_limits<std::int32_t>::max()) {
        damaged("a pid is out of range");
    }
    dso.pid = Pid{static_cast<std::int32_t>(pid)};
    into(dso.function, evidence.strings.size())(message.number(field::kDsoFunction));
    dso.start = message.number(field::kDsoStart);
    dso.file_build_id = read_build_id(message, field::kDsoFileBuildId);
    into(dso.package, evidence.strings.size() + 1)(message.number(field::kDsoPackage));
    into(dso.package_version, evidence.strings.size() + 1)(message.number(field::kDsoPackageVersion));
    std::uint64_t before = 0;
    message.first_column(field::kDsoOffsets, dso.addresses, [&](auto& row, std::uint64_t step) {
        const bool first = dso.addresses.size() == 1;
        if ((step == 0 && !first) || step > std::numeric_limits<std::uint64_t>::max() - before) {
            damaged("addresses out of order");
        }
        row.offset = before += step;
    });
    message.column(field::kDsoSymbols, dso.addresses,
                   [&](auto& row, auto value) { into(row.symbol, evidence.symbols.size())(value); });
    message.column(field::kDsoChains, dso.addresses,
                   [&](auto& row, auto value) { into(row.chain, evidence.chains.size() + 1)(value); });
    return dso;
}

EvidenceCode read_code(const Message& message, const Evidence& evidence) {
    EvidenceCode code;
    into(code.dso, evidence.dsos.size())(message.number(field::kCodeDso));
    code.start = message.number(field::kCodeStart);
    code.shift = message.number(field::kCodeShift);
    code.machine = message.number<std::uint16_t>(field::kCodeMachine);
    code.big_endian = message.number(field::kCodeBigEndian) != 0;
    code.wide = message.number(field::kCodeNarrow) == 0;
    code.code = message.text(field::kCodeBytes);
    code.has_lines = message.number(field::kCodeHasLines) != 0;
    message.first_column(field::kCodeLineOffsets, code.lines, [&](auto& row, auto value) {
        const auto count = code.lines.size();
        if (value >= code.code.size() || (count > 1 && value <= code.lines[count - 2].offset)) {
            damaged("lines of no code");
        }
        row.offset = value;
    });
    message.column(field::kCodeLineFiles, code.lines,
                   [&](auto& row, auto value) { into(row.file, evidence.strings.size())(value); });
    message.column(field::kCodeLineNumbers, code.lines, [](auto& row, auto value) { row.line = narrow(value); });
    code.notes = message.texts(field::kCodeNotes);
    return code;
}

void read_kernel_text(const Message& message, Evidence& evidence) {
    auto& rows = evidence.kernel_text;
    message.first_column(field::kTextStarts, rows, [](auto& row, auto value) { row.start = value; });
    message.column(field::kTextSizes, rows, [](auto& row, auto value) {
        if (value > std::numeric_limits<std::uint64_t>::max() - row.start) damaged("kernel text without an end");
        row.size = value;
    });
    message.column(field::kTextClasses, rows, [](auto& row, auto value) {
        if (value > std::numeric_limits<std::uint8_t>::max()) damaged("an unknown class of kernel text");
        row.text_class = narrow(value);
    });
}

void read_unwound(const Message& message, Evidence& evidence) {
    EvidenceStack addresses;
    message.each_number(field::kStackAddresses, [&](std::uint64_t address) { addresses.push_back(address); });
    std::size_t next = 0;
    message.each_number(field::kStackLengths, [&](std::uint64_t length) {
        if (length > addresses.size() - next) damaged("a stack longer than its addresses");
        if (evidence.stacks.size() == kMostStacks) damaged("too many stacks");
        const auto first = addresses.begin() + static_cast<std::ptrdiff_t>(next);
        evidence.stacks.emplace_back(first, first + static_cast<std::ptrdiff_t>(length));
        next += length;
    });
    if (next != addresses.size()) damaged("addresses of no stack");
    auto& rows = evidence.unwound;
    std::uint64_t before = 0;
    message.first_column(field::kUnwoundSamples, rows, [&](auto& row, std::uint64_t step) {
        if ((step == 0 && rows.size() > 1) || step > std::numeric_limits<std::uint64_t>::max() - before) {
            damaged("samples out of order");
        }
        row.sample = before += step;
    });
    message.column(field::kUnwoundStacks, rows,
                   [&](auto& row, auto value) { into(row.stack, evidence.stacks.size())(value); });
    message.column(field::kUnwoundFlags, rows, [](auto& row, auto value) {
        if (value > std::numeric_limits<std::uint8_t>::max()) damaged("unknown stack flags");
        row.flags = narrow(value);
    });
    evidence.unwinding = message.texts(field::kUnwinding);
}

void read_placements(const Message& message, Evidence& evidence) {
    auto& rows = evidence.placements;
    message.first_column(field::kPlacementDsos, rows,
                         [&](auto& row, auto value) { into(row.dso, evidence.dsos.size())(value); });
    message.column(field::kPlacementTimes, rows, [](auto& row, auto value) {
        if (value > static_cast<std::uint64_t>(kFarthestTime)) damaged("a time is out of range");
        row.code.time = monotonic_from_ns(value);
    });
    message.column(field::kPlacementStarts, rows, [](auto& row, auto value) { row.code.start = value; });
    message.column(field::kPlacementSizes, rows, [](auto& row, auto value) {
        if (value > std::numeric_limits<std::uint64_t>::max() - row.code.start) damaged("code without an end");
        row.code.size = value;
    });
    message.column(field::kPlacementCodes, rows, [](auto& row, auto value) { row.code.code = value; });
}

Evidence read_evidence(const Message& message) {
    Evidence evidence;
    evidence.program = message.text(field::kProgram);
    const std::int64_t made = message.signed_number(field::kMade);
    if (made > kFarthestTime || made < -kFarthestTime) damaged("a time is out of range");
    evidence.made = WallTime(Nanoseconds(made));
    evidence.strings = message.texts(field::kStrings);
    read_symbols(message, evidence);
    read_chains(message, evidence);
    message.each(field::kDsos, [&](auto bytes) {
        if (evidence.dsos.size() == kMostDsos) damaged("too many binaries");
        evidence.dsos.push_back(read_dso(Message(bytes), evidence));
    });
    read_kernel_text(message, evidence);
    read_unwound(message, evidence);
    read_placements(message, evidence);
    evidence.refusals = message.texts(field::kRefusals);
    evidence.notes = message.texts(field::kNotes);
    evidence.line_sentences = message.texts(field::kLineSentences);
    evidence.module_line_sentences = message.texts(field::kModuleLineSentences);
    message.each(field::kDegraded, [&](auto bytes) {
        if (evidence.degraded.size() == kMostDegraded) damaged("too many reasons");
        const Message one(bytes);
        evidence.degraded.push_back({one.text(field::kReason), one.text(field::kDetail), one.text(field::kRemedy)});
    });
    message.each(field::kCodes, [&](auto bytes) {
        if (evidence.codes.size() == kMostCodes) damaged("too much code");
        evidence.codes.push_back(read_code(Message(bytes), evidence));
    });
    evidence.functions_without_code = message.number(field::kFunctionsWithoutCode);
    return evidence;
}

}  // namespace

Result<Evidence> decode_evidence(Bytes bytes) {
    const auto unpacked = collector::unpack_frame(bytes);
    if (!unpacked) return fail(Error(unpacked.error()).at("evidence"));
    const Bytes plain(*unpacked);
    try {
        const Message message({reinterpret_cast<const char*>(plain.data()), plain.size()});
        const auto version = message.number<std::uint32_t>(field::kVersion);
        if (version == 0) return fail(ErrorCode::kInvalid, "the evidence has no version");
        if (version > kEvidenceVersion) {
            return fail(ErrorCode::kUnsupported, "the evidence has version " + std::to_string(version) +
                                                     ", this program reads up to " + std::to_string(kEvidenceVersion));
        }
        return read_evidence(message);
    } catch (const std::exception& damage) {
        return fail(ErrorCode::kInvalid, std::string("the evidence is damaged: ") + damage.what());
    }
}

}  // namespace perfvigil::analyzer
