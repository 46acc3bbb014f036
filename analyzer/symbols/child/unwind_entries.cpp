// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/symbols/child/unwind_entries.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/leb128.hpp"

namespace perfvigil::analyzer {
namespace {

// DW_EH_PE_*
constexpr std::uint8_t kFormat = 0x0f;
constexpr std::uint8_t kApplication = 0x70;
constexpr std::uint8_t kRelativeToHere = 0x10;
constexpr std::uint8_t kIndirect = 0x80;
constexpr std::uint8_t kOmitted = 0xff;

constexpr std::uint32_t kWideLength = 0xffffffff;
constexpr std::uint32_t kDebugFrameTerms = 0xffffffff;
constexpr std::uint64_t kDebugFrameTermsWide = 0xffffffffffffffff;

// A number in one of the formats; sign extended where the format is signed.
std::uint64_t read_number(ByteReader& in, std::uint8_t format) {
    const auto extended = [](auto value) { return static_cast<std::uint64_t>(static_cast<std::int64_t>(value)); };
    switch (format) {
        case 0x00:
        case 0x04:
        case 0x0c: return in.u64();
        case 0x01: return read_uleb128(in);
        case 0x02: return in.u16();
        case 0x03: return in.u32();
        case 0x09: return static_cast<std::uint64_t>(read_sleb128(in));
        case 0x0a: return extended(static_cast<std::int16_t>(in.u16()));
        case 0x0b: return extended(in.i32());
        default: in.mark_failed(); return 0;
    }
}

// `base`: the link address of the reader's first byte.
std::uint64_t read_pointer(ByteReader& in, std::uint8_t encoding, std::uint64_t base) {
    const std::uint64_t here = base + in.position();
    const std::uint64_t value = read_number(in, encoding & kFormat);
    const std::uint8_t application = encoding & kApplication;
    // Relative to text, data or function, and through memory: nobody writes code ranges so.
    if ((encoding & kIndirect) != 0 || (application != 0 && application != kRelativeToHere)) in.mark_failed();
    return application == kRelativeToHere ? here + value : value;
}

class Section {
public:
    Section(const FrameSection& section, FrameEntries& out) : section_(section), out_(out) {}

    void read() {
        ByteReader in(section_.bytes);
        while (in.remaining() >= sizeof(std::uint32_t)) {
            const std::uint64_t start = in.position();
            auto entry = next(in);
            if (!entry) continue;  // a zero length: the end of one object file's part
            if (!in.ok()) return damaged();
            if (!take(*entry, start)) damaged();
        }
    }

private:
    struct Entry {
        ByteReader content;      // behind the id
        std::uint64_t position;  // of the content in the section
        std::uint64_t id;        // as it stands there
        std::uint64_t id_position;
        bool wide;
    };

    void damaged() { out_.damaged = true; }

    // The entry at the reader, which then stands behind it.
    std::optional<Entry> next(ByteReader& in) const {
        std::uint64_t length = in.u32();
        const bool wide = length == kWideLength;
        if (wide) length = in.u64();
        if (length == 0 && in.ok()) return std::nullopt;
        const std::uint64_t position = in.position();
        Entry entry{.content = ByteReader(in.take(length)),
                    .position = position,
                    .id = 0,
                    .id_position = position,
                    .wide = wide};
        // In .eh_frame the id has four bytes whatever the length is written in.
        const bool wide_id = wide && section_.kind == FrameSectionKind::kDebugFrame;
        entry.id = wide_id ? entry.content.u64() : entry.content.u32();
        return entry;
    }

    [[nodiscard]] bool holds_terms(const Entry& entry) const {
        if (section_.kind == FrameSectionKind::kEhFrame) return entry.id == 0;
        return entry.id == (entry.wide ? kDebugFrameTermsWide : kDebugFrameTerms);
    }

    bool take(Entry& entry, std::uint64_t start) {
        if (!entry.content.ok()) return false;
        if (holds_terms(entry)) return terms_at(start).has_value();
        const std::uint64_t at = section_.kind == FrameSectionKind::kEhFrame ? entry.id_position - entry.id : entry.id;
        const auto terms = terms_at(at);
        return terms && take_range(entry, *terms);
    }

    bool take_range(Entry& entry, std::uint32_t number) {
        const FrameTerms& terms = out_.terms[number];
        ByteReader& in = entry.content;
        const std::uint64_t base = section_.address + entry.position;
        FrameEntry range{
            .start = read_pointer(in, terms.pointer_encoding, base), .end = 0, .terms = number, .instructions = {}};
        const std::uint64_t size = read_number(in, terms.pointer_encoding & kFormat);
        if (terms.has_augmentation_data) in.skip(read_uleb128(in));
        range.instructions = in.rest();
        range.end = range.start + size;
        if (!in.ok() || range.end < range.start) return false;
        if (size > 0) out_.entries.push_back(range);  // else: code that the linker threw away
        return true;
    }

    // The number of the CIE at that position of the section, read at the first question.
    std::optional<std::uint32_t> terms_at(std::uint64_t position) {
        if (const auto known = known_.find(position); known != known_.end()) return known->second;
        std::optional<std::uint32_t> number;
        if (position < section_.bytes.size()) {
            ByteReader in(section_.bytes.subspan(static_cast<std::size_t>(position)));
            const auto entry = next(in);
            if (entry && in.ok() && entry->content.ok() && holds_terms(*entry)) {
                if (const auto terms = read_terms(*entry)) {
                    number = static_cast<std::uint32_t>(out_.terms.size());
                    out_.terms.push_back(*terms);
                }
            }
        }
        known_.emplace(position, number);
        return number;
    }

    [[nodiscard]] std::optional<FrameTerms> read_terms(Entry entry) const {
        ByteReader& in = entry.content;
        FrameTerms terms;
        const std::uint8_t version = in.u8();
        if (version != 1 && version != 3 && version != 4) return std::nullopt;
        const auto augmentation = text(in);
        if (augmentation == "eh") in.skip(8);                                     // gcc 2
        if (version == 4 && (in.u8() != 8 || in.u8() != 0)) return std::nullopt;  // address and segment selector size
        terms.code_factor = read_uleb128(in);
        terms.data_factor = read_sleb128(in);
        terms.return_column = version == 1 ? in.u8() : read_uleb128(in);
        if (augmentation.starts_with('z')) {
            terms.has_augmentation_data = true;
            ByteReader data(in.take(read_uleb128(in)));
            read_augmentation(std::string_view(augmentation).substr(1), data, terms);
            if (!data.ok()) return std::nullopt;
        } else if (!augmentation.empty() && augmentation != "eh") {
            return std::nullopt;
        }
        terms.instructions = in.rest();
        if (!in.ok()) return std::nullopt;
        return terms;
    }

    static void read_augmentation(std::string_view letters, ByteReader& data, FrameTerms& terms) {
        for (const char letter : letters) {
            switch (letter) {
                case 'R': terms.pointer_encoding = data.u8(); break;
                case 'L': data.skip(1); break;
                case 'P': {
                    const std::uint8_t encoding = data.u8();
                    // Where the personality routine is does not matter, only how long the word is.
                    if (encoding != kOmitted) (void)read_number(data, encoding & kFormat);
                    break;
                }
                case 'S': terms.signal_frame = true; break;
                case 'B':         // arm64: return addresses are signed with the other key
                case 'G': break;  // arm64: memory tags
                default: return;  // what follows is not known, but how long it all is
            }
        }
    }

    static std::string text(ByteReader& in) {
        std::string found;
        while (const std::uint8_t letter = in.u8()) found += static_cast<char>(letter);
        return found;
    }

    const FrameSection& section_;
    FrameEntries& out_;
    std::unordered_map<std::uint64_t, std::optional<std::uint32_t>> known_;  // CIEs by position
};

}  // namespace

void read_frame_entries(const FrameSection& section, FrameEntries& out) { Section(section, out).read(); }

std::uint64_t eh_frame_address(Bytes header, std::uint64_t address) {
    ByteReader in(header);
    const bool known = in.u8() == 1;
    const std::uint8_t encoding = in.u8();
    in.skip(2);  // encodings of the table of entries
    if (!known || encoding == kOmitted) return 0;
    const std::uint64_t found = read_pointer(in, encoding, address);
    return in.ok() ? found : 0;
}

}  // namespace perfvigil::analyzer
