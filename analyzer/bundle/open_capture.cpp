// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/bundle/open_capture.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "analyzer/bundle/evidence_codec.hpp"
#include "base/text.hpp"
#include "collector/capture_header.hpp"
#include "collector/file_trailer.hpp"

namespace perfvigil::analyzer {
namespace {

using collector::CaptureReader;
using collector::FileTrailer;

constexpr std::size_t kMostStreamed = std::size_t{8} << 30;  // a whole file that comes through a pipe is held
constexpr std::uint64_t kMostEvidence = std::uint64_t{1} << 30;

Result<std::vector<std::byte>> bytes_at(int fd, std::uint64_t offset, std::uint64_t size) {
    std::vector<std::byte> bytes(size);
    std::size_t have = 0;
    while (have < bytes.size()) {
        const auto got = ::pread(fd, bytes.data() + have, bytes.size() - have, static_cast<off_t>(offset + have));
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return fail_errno(got < 0 ? errno : EIO, "pread");
        have += static_cast<std::size_t>(got);
    }
    return bytes;
}

void add_evidence(OpenedCapture& opened, const Result<Bytes>& bytes) {
    auto decoded = bytes ? decode_evidence(*bytes) : fail(bytes.error());
    if (decoded) {
        opened.evidence = std::make_shared<const Evidence>(std::move(*decoded));
        return;
    }
    opened.warnings.push_back(
        fmt::format("This is a bundle, but {}: names are those that this host can give.", decoded.error().message));
}

// What the file's end says; the capture alone where that is nothing.
struct Ends {
    std::uint64_t capture_size = 0;
    std::optional<FileTrailer> evidence;
    std::vector<std::string> warnings;
};
Ends ends_of(Bytes end, std::uint64_t size) {
    Ends ends{.capture_size = size, .evidence = {}, .warnings = {}};
    if (collector::part_at_end(end) != collector::FilePart::kEvidence) return ends;
    const auto trailer = collector::read_trailer(end, size);
    if (!trailer) {
        ends.warnings.push_back(fmt::format(
            "This looks like a bundle, but {}: names are those that this host can give.", trailer.error().message));
    } else {
        ends.evidence = *trailer;
        ends.capture_size = trailer->offset;
    }
    return ends;
}

Result<OpenedCapture> open_regular(const std::string& path, const UniqueFd& fd, std::uint64_t size) {
    const std::uint64_t trailer = std::min<std::uint64_t>(size, collector::kTrailerSize);
    const auto end = bytes_at(fd.get(), size - trailer, trailer);
    if (!end) return fail(end.error().at(path));
    auto ends = ends_of(*end, size);
    OpenedCapture opened;
    opened.warnings = std::move(ends.warnings);
    if (ends.evidence) {
        if (ends.evidence->size > kMostEvidence) {
            opened.warnings.emplace_back("This is a bundle, but its evidence is over its limit of 1 GiB.");
        } else {
            const auto evidence = bytes_at(fd.get(), ends.evidence->offset, ends.evidence->size);
            if (!evidence) return fail(evidence.error().at(path));
            add_evidence(opened, collector::checked_part(*evidence, *ends.evidence));
        }
    }
    auto reader = CaptureReader::open(path, ends.capture_size);
    if (!reader) return fail(std::move(reader.error()));
    opened.reader = std::move(*reader);
    opened.capture_size = ends.capture_size;
    return opened;
}

Result<OpenedCapture> with_reader(Result<std::unique_ptr<CaptureReader>> reader) {
    if (!reader) return fail(std::move(reader.error()));
    return OpenedCapture{.reader = std::move(*reader), .evidence = nullptr, .capture_size = 0, .warnings = {}};
}

}  // namespace

Result<OpenedCapture> open_capture(const std::string& path) {
    if (path == "-") {
        UniqueFd copy(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0));
        if (!copy) return fail_errno(errno, "standard input");
        return open_capture(std::move(copy), {}, "standard input");
    }
    auto fd = open_file(path, O_RDONLY);
    if (!fd) return fail(std::move(fd.error()));
    struct stat st{};
    if (::fstat(fd->get(), &st) != 0) return fail(errno_error(errno, path));
    if (S_ISDIR(st.st_mode)) return with_reader(CaptureReader::open(path));
    if (S_ISREG(st.st_mode)) return open_regular(path, *fd, static_cast<std::uint64_t>(st.st_size));
    return open_capture(std::move(*fd), {}, path);
}

Result<OpenedCapture> open_capture(std::vector<std::byte> bytes, std::string name) {
    auto ends = ends_of(bytes, bytes.size());
    OpenedCapture opened;
    opened.warnings = std::move(ends.warnings);
    if (ends.evidence) {
        const Bytes evidence = Bytes(bytes).subspan(ends.evidence->offset, ends.evidence->size);
        add_evidence(opened, collector::checked_part(evidence, *ends.evidence));
        bytes.resize(ends.capture_size);
    }
    opened.capture_size = ends.capture_size;
    auto reader = CaptureReader::from_bytes(std::move(bytes), std::move(name));
    if (!reader) return fail(std::move(reader.error()));
    opened.reader = std::move(*reader);
    return opened;
}

Result<OpenedCapture> open_capture(UniqueFd fd, std::vector<std::byte> start, std::string name) {
    while (start.size() < collector::kFileHeaderSize) {
        std::array<std::byte, collector::kFileHeaderSize> more{};
        const auto got = ::read(fd.get(), more.data(), collector::kFileHeaderSize - start.size());
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return fail(errno_error(errno, name));
        if (got == 0) break;
        start.insert(start.end(), more.begin(), more.begin() + got);
    }
    const auto header = collector::parse_capture_header(start);
    if (!header || header->pipe) {
        return with_reader(CaptureReader::from_stream(std::move(fd), std::move(start), std::move(name)));
    }
    auto rest = read_fd(fd.get(), kMostStreamed);
    if (!rest) return fail(std::move(rest.error()).at(name));
    const Bytes tail = std::as_bytes(std::span(*rest));
    start.insert(start.end(), tail.begin(), tail.end());
    return open_capture(std::move(start), std::move(name));
}

}  // namespace perfvigil::analyzer
