// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/capture_source.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/core.h>

#include "base/text.hpp"
#include "collector/file_trailer.hpp"

namespace perfvigil::collector {
namespace {

constexpr std::size_t kMaxStreamedFile = std::size_t{8} << 30;  // a whole file that comes through a pipe is held

bool is_folder(const std::string& path) {
    struct stat st{};
    return ::stat(path.c_str(), &st) == 0 && S_ISDIR(st.st_mode);
}

// The N of the files data.N in the folder, ascending.
std::vector<std::uint64_t> numbered_files(const std::string& path) {
    constexpr std::string_view kPrefix = "data.";
    constexpr std::size_t kMaxFiles = 65536;
    constexpr std::uint64_t kMaxNumber = 1U << 20;
    std::vector<std::uint64_t> numbers;
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(path, error)) {
        const std::string name = entry.path().filename().string();
        if (!name.starts_with(kPrefix) || numbers.size() == kMaxFiles) continue;
        const auto number = parse_number<std::uint64_t>(std::string_view(name).substr(kPrefix.size()));
        if (number && *number < kMaxNumber) numbers.push_back(*number);
    }
    std::ranges::sort(numbers);
    return numbers;
}

bool is_regular(int fd) {
    struct stat st{};
    return ::fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
}

// Makes `start` hold `size` bytes, fewer only at the end of the stream.
Result<void> read_start(int fd, std::vector<std::byte>& start, std::size_t size) {
    std::size_t held = start.size();
    if (held < size) start.resize(size);
    while (held < size) {
        const ssize_t n = ::read(fd, start.data() + held, size - held);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return fail_errno(errno, "read");
        if (n == 0) break;
        held += static_cast<std::size_t>(n);
    }
    start.resize(held);
    return {};
}

}  // namespace

Result<CaptureSource> CaptureSource::from_bytes(std::vector<std::byte> bytes, std::string name) {
    CaptureSource source;
    source.name = std::move(name);
    source.bytes = std::move(bytes);
    auto read = source.read_frame(source.bytes);
    if (!read) return fail(std::move(read.error()).at(source.name));
    return source;
}

Result<CaptureSource> CaptureSource::open(const std::string& path, std::uint64_t size) {
    if (path == "-") {
        UniqueFd copy(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0));
        if (!copy) return fail_errno(errno, "standard input");
        return open_stream(std::move(copy), {}, "standard input");
    }
    if (is_folder(path)) return open_folder(path);
    auto fd = open_file(path, O_RDONLY);
    if (!fd) return fail(std::move(fd.error()));
    if (!is_regular(fd->get())) return open_stream(std::move(*fd), {}, path);
    auto mapped = MappedFile::map(fd->get());
    if (!mapped) return fail(std::move(mapped.error()).at(path));
    CaptureSource source;
    source.name = path;
    source.files.push_back(std::move(*mapped));
    const Bytes file = source.files.front().bytes();
    auto read = source.read_frame(file.first(std::min<std::uint64_t>(file.size(), size)));
    if (!read) return fail(std::move(read.error()).at(path));
    return source;
}

// perf record --threads: "data" holds header, attrs, features and some records, "data.0" … only records.
Result<CaptureSource> CaptureSource::open_folder(const std::string& path) {
    auto source = open(path + "/data");
    if (!source) return source;
    const auto parts = numbered_files(path);
    for (std::size_t i = 0; i < parts.size(); ++i) {
        const auto name = fmt::format("{}/data.{}", path, parts[i]);
        auto mapped = MappedFile::open(name);
        if (!mapped) {
            source->warnings.push_back("not read: " + mapped.error().message);
            continue;
        }
        source->inputs.emplace_back(mapped->bytes(), 0, source->header.endian);
        source->files.push_back(std::move(*mapped));
    }
    // perf numbers them from 0, one per thread.
    if (!parts.empty() && parts.back() + 1 != parts.size()) {
        source->warnings.push_back(fmt::format("of the files data.0 to data.{} {} are missing: what they held is lost",
                                               parts.back(), parts.back() + 1 - parts.size()));
    }
    source->name = path;
    return source;
}

Result<CaptureSource> CaptureSource::open_stream(UniqueFd fd, std::vector<std::byte> start, std::string name) {
    auto read = read_start(fd.get(), start, kFileHeaderSize);
    if (!read) return fail(std::move(read.error()).at(name));
    const auto header = parse_capture_header(start);
    if (!header) return fail(header.error().at(name));
    if (!header->pipe) {
        auto rest = read_fd(fd.get(), kMaxStreamedFile);
        if (!rest) return fail(std::move(rest.error()).at(name));
        const Bytes tail = std::as_bytes(std::span(*rest));
        start.insert(start.end(), tail.begin(), tail.end());
        auto source = from_bytes(std::move(start), std::move(name));
        if (source) source->streamed = true;
        return source;
    }
    CaptureSource source;
    source.streamed = true;
    source.name = std::move(name);
    source.header = *header;
    start.erase(start.begin(), start.begin() + kPipeHeaderSize);
    source.inputs.emplace_back(std::move(fd), std::move(start), kPipeHeaderSize, header->endian);
    return source;
}

Result<void> CaptureSource::read_frame(Bytes file) {
    main_ = file;
    auto parsed = parse_capture_header(file);
    if (!parsed) return fail(std::move(parsed.error()));
    header = *parsed;
    if (header.pipe) {
        inputs.emplace_back(file.subspan(kPipeHeaderSize), kPipeHeaderSize, header.endian);
        return {};
    }
    check_sections(file);
    attrs = read_attrs(file, header, warnings);
    read_features(file);
    const std::uint64_t start = std::min<std::uint64_t>(header.data.offset, file.size());
    std::uint64_t size = file.size() - start;
    if (header.data.size != 0) size = std::min(size, header.data.size);
    if (attrs.empty() && size == 0) return fail(ErrorCode::kInvalid, "a perf.data header, but no event and no record");
    inputs.emplace_back(file.subspan(start, size), start, header.endian);
    return {};
}

void CaptureSource::check_sections(Bytes file) {
    if (header.data.size == 0) {
        warnings.push_back(
            "the recorder did not finish the file (its data size is 0): records are read to the end, "
            "header features are not there");
    } else if (!header.data.fits(file.size())) {
        const std::uint64_t there = file.size() - std::min<std::uint64_t>(header.data.offset, file.size());
        warnings.push_back(fmt::format(
            "the data should lie at {:#x} with {} bytes, but the file ends at {:#x}: records are read up to "
            "there, {} bytes of them are lost ({:.0f} %), header features are not there",
            header.data.offset, header.data.size, file.size(), header.data.size - there,
            100 * (1 - static_cast<double>(there) / static_cast<double>(header.data.size))));
    }
}

void CaptureSource::read_features(Bytes file) {
    if (header.data.size != 0) {
        for (const auto& [bit, section] : read_feature_table(file, header, warnings))
            decode_feature(bit, file.subspan(section.offset, section.size), header.endian, features, warnings);
        if (!features.facts) read_facts_at_end(file);
    }
    facts_whole = features.facts.has_value();
    if (facts_whole) return;
    if (const auto head = head_facts_of(file, header)) {
        auto facts = decode_capture_facts(*head);
        if (facts)
            features.facts = std::move(*facts);
        else
            warnings.push_back(fmt::format("at {:#x}: {}", kHeadFactsOffset, facts.error().message));
    }
}

// Evidence of a bundle may lie behind them.
void CaptureSource::read_facts_at_end(Bytes file) {
    for (auto part = part_at_end(file); part; part = part_at_end(file)) {
        const auto trailer = read_trailer(file, file.size());
        if (!trailer) return warnings.push_back(trailer.error().message);
        if (*part != FilePart::kHostFacts) {
            file = file.first(trailer->offset);
            continue;
        }
        const auto part_bytes = checked_part(file.subspan(trailer->offset, trailer->size), *trailer);
        auto facts = part_bytes ? decode_capture_facts(*part_bytes) : fail(part_bytes.error());
        if (!facts) return warnings.push_back(std::move(facts.error().message));
        features.facts = std::move(*facts);
        return;
    }
}

}  // namespace perfvigil::collector
