// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/bundle/bundle_file.hpp"

#include <string_view>

#include <fmt/format.h>

#include "base/text.hpp"

namespace perfvigil::analyzer {
namespace {

constexpr std::string_view kBegin = "PVBUNDLE";
constexpr std::string_view kEnd = "ELDNUBVP";

std::string_view text_of(Bytes bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

}  // namespace

std::uint64_t evidence_hash(Bytes evidence) { return stable_hash(text_of(evidence)); }

std::vector<std::byte> encode_bundle_trailer(const BundleParts& parts) {
    std::vector<std::byte> out;
    ByteWriter writer(out);
    writer.text(kBegin);
    writer.u32(kBundleVersion);
    writer.u32(0);
    writer.u64(parts.capture_size);
    writer.u64(parts.evidence_size);
    writer.u64(parts.evidence_hash);
    writer.text(kEnd);
    return out;
}

Result<std::optional<BundleParts>> decode_bundle_trailer(Bytes end, std::uint64_t file_size) {
    if (end.size() < kBundleTrailerSize) return std::nullopt;
    ByteReader reader(end.last(kBundleTrailerSize));
    if (text_of(reader.take(kBegin.size())) != kBegin) return std::nullopt;
    const std::uint32_t version = reader.u32();
    reader.skip(4);
    BundleParts parts;
    parts.capture_size = reader.u64();
    parts.evidence_size = reader.u64();
    parts.evidence_hash = reader.u64();
    if (text_of(reader.take(kEnd.size())) != kEnd) return std::nullopt;
    if (version > kBundleVersion) {
        return fail(ErrorCode::kUnsupported,
                    fmt::format("the bundle has version {}, this program reads up to {}", version, kBundleVersion));
    }
    const std::uint64_t rest = file_size - kBundleTrailerSize;
    if (parts.evidence_size > rest || parts.capture_size != rest - parts.evidence_size) {
        return fail(ErrorCode::kInvalid, fmt::format("the bundle's parts ({} and {} bytes) do not make up the file",
                                                     parts.capture_size, parts.evidence_size));
    }
    return parts;
}

}  // namespace perfvigil::analyzer
