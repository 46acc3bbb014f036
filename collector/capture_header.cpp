// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/capture_header.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "base/text.hpp"

namespace perfvigil::collector {
namespace {

constexpr std::uint64_t kMagic2 = 0x32454c4946524550;  // "PERFILE2"
constexpr std::uint64_t kMagic1 = 0x454c494646524550;  // "PERFFILE"
constexpr std::size_t kHeaderSizeWithoutFeatures = 72;
constexpr std::size_t kMinAttrSize = 64;
constexpr std::size_t kSectionSize = 16;

FileSection read_section(ByteReader& in) {
    FileSection section;
    section.offset = in.u64();
    section.size = in.u64();
    return section;
}

// v1 has one magic for both byte orders; the size of an attr entry tells (util/header.c, try_all_file_abis()).
std::optional<Endian> endian_of_v1(std::uint64_t header_size, std::uint64_t attr_size) {
    if (header_size == kPipeHeaderSize) return Endian::kNative;
    if (byte_swap(header_size) == kPipeHeaderSize) return Endian::kSwapped;
    for (const std::uint64_t known : {64U, 72U, 80U, 96U, 104U}) {
        if (attr_size == known + kSectionSize) return Endian::kNative;
        if (byte_swap(attr_size) == known + kSectionSize) return Endian::kSwapped;
    }
    return std::nullopt;
}

struct Kind {
    Endian endian = Endian::kNative;
    int version = 2;
};

Result<Kind> kind_of(Bytes start) {
    ByteReader in(start);
    const std::uint64_t magic = in.u64();
    const std::uint64_t header_size = in.u64();
    if (!in.ok()) return fail(ErrorCode::kInvalid, "no perf.data: too short for a header");
    if (magic == kMagic2) return Kind{Endian::kNative, 2};
    if (magic == byte_swap(kMagic2)) return Kind{Endian::kSwapped, 2};
    if (magic != kMagic1 && magic != byte_swap(kMagic1)) {
        const std::string_view text(reinterpret_cast<const char*>(start.data()), 8);
        return fail(ErrorCode::kInvalid, fmt::format("no perf.data: it begins with '{}'", escape(text)));
    }
    const std::uint64_t attr_size = in.u64();
    const auto endian = endian_of_v1(header_size, in.ok() ? attr_size : 0);
    if (!endian) return fail(ErrorCode::kInvalid, "a PERFFILE (version 1) header of unknown byte order");
    return Kind{*endian, 1};
}

std::bitset<kFeatureBits> bits_of(Bytes words, Endian endian, std::size_t word_size) {
    std::bitset<kFeatureBits> bits;
    for (std::size_t bit = 0; bit < kFeatureBits; ++bit) {
        const std::size_t word = bit / (8 * word_size);
        const std::size_t byte_in_word = bit / 8 % word_size;
        // Byte 0 holds the low bits where the file's order is little-endian.
        const bool little = (std::endian::native == std::endian::little) == (endian == Endian::kNative);
        const std::size_t at = word * word_size + (little ? byte_in_word : word_size - 1 - byte_in_word);
        bits[bit] = (std::to_integer<unsigned>(words[at]) >> (bit % 8) & 1U) != 0;
    }
    return bits;
}

// The bitmap is made of the recorder's longs. A swapped file does not tell their size; perf guesses by the hostname
// bit, which is always set, and falls back to "only build-ids" (perf_file_header__read()).
std::bitset<kFeatureBits> read_feature_bits(Bytes words, Endian endian) {
    if (endian == Endian::kNative) return bits_of(words, endian, sizeof(long));
    for (const std::size_t word_size : {8U, 4U}) {
        const auto bits = bits_of(words, endian, word_size);
        if (bits[kFeatureHostname]) return bits;
    }
    std::bitset<kFeatureBits> only_build_ids;
    only_build_ids.set(kFeatureBuildId);
    return only_build_ids;
}

std::string outside(FileSection section, std::uint64_t file_size) {
    return fmt::format("lies at {:#x} with {} bytes, outside the file of {} bytes", section.offset, section.size,
                       file_size);
}

// `budget`: how many ids may still come. Lists of honest files do not overlap, so together they fit into the file.
std::vector<EventId> read_ids(Bytes file, FileSection section, Endian endian, std::size_t attr_number,
                              std::uint64_t& budget, std::vector<std::string>& warnings) {
    std::vector<EventId> ids;
    if (!section.fits(file.size())) {
        warnings.push_back(fmt::format("the list of ids of event {} {}: its samples may not be told apart", attr_number,
                                       outside(section, file.size())));
        return ids;
    }
    if (section.size / 8 > budget) {
        warnings.push_back(fmt::format("the lists of ids overlap: those of event {} are left out", attr_number));
        return ids;
    }
    budget -= section.size / 8;
    ByteReader in(file.subspan(section.offset, section.size), endian);
    ids.reserve(section.size / 8);
    while (in.remaining() >= 8) ids.push_back(EventId{in.u64()});
    return ids;
}

}  // namespace

Result<CaptureHeader> parse_capture_header(Bytes start) {
    const auto kind = kind_of(start);
    if (!kind) return fail(kind.error());
    CaptureHeader header{.endian = kind->endian, .version = kind->version, .attrs = {}, .data = {}, .features = {}};
    ByteReader in(start, header.endian);
    in.skip(8);
    const std::uint64_t size = in.u64();
    if (size == kPipeHeaderSize) {
        header.pipe = true;
        return header;
    }
    header.attr_size = in.u64();
    header.attrs = read_section(in);
    header.data = read_section(in);
    (void)read_section(in);  // event types, dead since 2012
    if (!in.ok()) return fail(ErrorCode::kTruncated, "the file ends within its header");
    if (size < kHeaderSizeWithoutFeatures)
        return fail(ErrorCode::kInvalid, fmt::format("a header that claims {} bytes", size));
    if (size >= kFileHeaderSize && in.remaining() >= kFeatureBits / 8)
        header.features = read_feature_bits(in.take(kFeatureBits / 8), header.endian);
    return header;
}

std::vector<StoredAttr> read_attrs(Bytes file, const CaptureHeader& header, std::vector<std::string>& warnings) {
    std::vector<StoredAttr> attrs;
    if (header.attrs.size == 0) return attrs;
    if (header.attr_size < kMinAttrSize + kSectionSize || header.attrs.offset > file.size()) {
        warnings.push_back(fmt::format("the list of events at {:#x} with entries of {} bytes cannot be read",
                                       header.attrs.offset, header.attr_size));
        return attrs;
    }
    const std::uint64_t there = std::min<std::uint64_t>(header.attrs.size, file.size() - header.attrs.offset);
    const std::uint64_t wanted = header.attrs.size / header.attr_size;
    const std::uint64_t whole = there / header.attr_size;
    const Bytes section = file.subspan(header.attrs.offset, there);
    std::uint64_t id_budget = file.size() / 8;
    for (std::uint64_t i = 0; i < whole; ++i) {
        const Bytes entry = section.subspan(i * header.attr_size, header.attr_size);
        // The stride rules: an attr newer than we know is longer, its ids still end the entry.
        auto attr = decode_attr(entry.first(entry.size() - kSectionSize), header.endian);
        if (!attr) {
            warnings.push_back(fmt::format("event {}: {}", i, attr.error().message));
            continue;
        }
        ByteReader ids(entry.last(kSectionSize), header.endian);
        attrs.push_back({*attr, read_ids(file, read_section(ids), header.endian, i, id_budget, warnings)});
    }
    if (whole < wanted)
        warnings.push_back(fmt::format("the file ends within its list of events: {} of {} read", whole, wanted));
    return attrs;
}

std::vector<FeatureSection> read_feature_table(Bytes file, const CaptureHeader& header,
                                               std::vector<std::string>& warnings) {
    std::vector<FeatureSection> sections;
    if (header.features.none() || !header.data.fits(file.size())) return sections;
    const std::uint64_t start = header.data.offset + header.data.size;
    ByteReader in(file.subspan(start), header.endian);
    std::string missing;
    for (unsigned bit = 0; bit < kFeatureBits; ++bit) {
        if (!header.features[bit]) continue;
        const FileSection section = read_section(in);
        if (in.ok() && section.fits(file.size())) {
            sections.push_back({bit, section});
        } else {
            missing += (missing.empty() ? "" : ", ") + std::to_string(bit);
        }
    }
    if (!missing.empty())
        warnings.push_back(
            fmt::format("header features outside the file of {} bytes left out: {}", file.size(), missing));
    return sections;
}

std::optional<Bytes> head_facts_of(Bytes file, const CaptureHeader& header) {
    if (header.pipe || file.size() < kHeadFactsOffset) return std::nullopt;
    ByteReader in(file.subspan(kHeadFactsOffset));
    const std::uint64_t magic = in.u64();
    const Bytes facts = in.take(in.u64());
    if (!in.ok() || magic != kHeadFactsMagic) return std::nullopt;
    return facts;
}

void append_capture_header(const CaptureHeader& header, std::vector<std::byte>& out) {
    ByteWriter to(out);
    to.u64(kMagic2);
    to.u64(kFileHeaderSize);
    to.u64(header.attr_size);
    for (const FileSection& section : {header.attrs, header.data, FileSection{}}) {
        to.u64(section.offset);
        to.u64(section.size);
    }
    for (std::size_t word = 0; word < kFeatureBits / 64; ++word) {
        std::uint64_t bits = 0;
        for (std::size_t bit = 0; bit < 64; ++bit) bits |= std::uint64_t{header.features[word * 64 + bit]} << bit;
        to.u64(bits);
    }
}

void append_attr_entry(const EventAttr& attr, FileSection ids, std::vector<std::byte>& out) {
    encode_attr(attr, out);
    ByteWriter to(out);
    to.u64(ids.offset);
    to.u64(ids.size);
}

}  // namespace perfvigil::collector
