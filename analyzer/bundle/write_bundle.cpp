// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/bundle/write_bundle.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "analyzer/bundle/evidence_codec.hpp"
#include "analyzer/bundle/evidence_names.hpp"
#include "analyzer/bundle/evidence_recorder.hpp"
#include "analyzer/bundle/open_capture.hpp"
#include "analyzer/bundle/sampled_functions.hpp"
#include "analyzer/capture_analysis.hpp"
#include "analyzer/function_code.hpp"
#include "analyzer/input/byte_source.hpp"
#include "analyzer/input/gzip_source.hpp"
#include "analyzer/input/recognize.hpp"
#include "base/fd.hpp"
#include "collector/file_trailer.hpp"

namespace perfvigil::analyzer {
namespace {

// A file under another name until it is whole.
class DraftFile {
public:
    [[nodiscard]] static Result<DraftFile> create(const std::string& path) {
        DraftFile draft;
        draft.path_ = path;
        draft.draft_ = fmt::format("{}.{}.part", path, ::getpid());
        // Captures tell what a host does: for their owner alone, as recorders write them.
        auto fd = open_file(draft.draft_, O_RDWR | O_CREAT | O_EXCL, 0600);
        if (!fd) return fail(std::move(fd.error()));
        draft.fd_ = std::move(*fd);
        return draft;
    }
    DraftFile(DraftFile&&) = default;
    DraftFile& operator=(DraftFile&&) = delete;
    ~DraftFile() {
        if (fd_) (void)::unlink(draft_.c_str());
    }

    [[nodiscard]] int fd() const { return fd_.get(); }
    [[nodiscard]] const std::string& name() const { return draft_; }
    [[nodiscard]] Result<void> publish() {
        if (::fsync(fd_.get()) != 0) return fail_errno(errno, path_);
        if (std::rename(draft_.c_str(), path_.c_str()) != 0) return fail_errno(errno, path_);
        fd_.reset();
        return {};
    }

private:
    DraftFile() = default;
    std::string path_;
    std::string draft_;
    UniqueFd fd_;
};

std::unique_ptr<PeekedSource> unpacked(UniqueFd fd) {
    auto source = std::make_unique<PeekedSource>(std::make_unique<FdSource>(std::move(fd)));
    if (!is_gzip(source->peek(kFirstBlock))) return source;
    return std::make_unique<PeekedSource>(std::make_unique<GzipSource>(std::move(source)));
}

Result<void> copy_capture(const std::string& path, const DraftFile& draft) {
    const std::string name = path == "-" ? "standard input" : path;
    struct stat st{};
    if (path != "-" && ::stat(path.c_str(), &st) == 0 && S_ISDIR(st.st_mode)) {
        return fail(ErrorCode::kUnsupported,
                    name +
                        ": a folder of several files (perf record --threads) cannot be bundled; only captures in "
                        "one file can");
    }
    UniqueFd fd(path == "-" ? ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0) : -1);
    if (path != "-") {
        auto opened = open_file(path, O_RDONLY);
        if (!opened) return fail(std::move(opened.error()));
        fd = std::move(*opened);
    }
    const auto source = unpacked(std::move(fd));
    if (recognize_binary(source->peek(kFirstBlock)) != InputFormat::kCapture) {
        return fail(ErrorCode::kUnsupported,
                    name + ": no capture (perf.data): other kinds of files hold their names already");
    }
    std::vector<std::byte> block(1U << 20);
    while (true) {
        const auto got = source->read(block);
        if (!got) return fail(got.error().at(name));
        if (*got == 0) return {};
        if (auto written = write_all(draft.fd(), Bytes(block).first(*got)); !written) {
            return fail(std::move(written.error()).at(draft.name()));
        }
    }
}

class Bundling {
public:
    Bundling(OpenedCapture capture, const BundleOptions& options, const Clock& clock)
        : capture_(std::move(capture)), options_(options), clock_(clock) {}

    Result<Evidence> evidence(BundleSummary& summary) {
        const CaptureOptions reading{.samples = {.inlined = true, .module_inlined = true},
                                     .symbols = options_.symbols,
                                     .evidence = capture_.evidence,
                                     .keep_evidence = true};
        auto analysis = CaptureAnalysis::prepare(*capture_.reader, reading, clock_);
        if (!analysis) return fail(std::move(analysis.error()));
        EvidenceRecorder& recorder = *(*analysis)->recorder();
        SampledFunctions sampled(recorder);
        (*analysis)->each_slice([&](const Slice& slice) { sampled.add(slice); });
        auto profile = (*analysis)->finish("bundle");
        if (!profile) return fail(std::move(profile.error()));
        summary.warnings = capture_.warnings;
        summary.warnings.insert(summary.warnings.end(), profile->warnings.begin(), profile->warnings.end());
        const auto left_out = keep_code(**analysis, sampled.take());
        Evidence made = recorder.take();
        made.program = "perfvigil " PERFVIGIL_VERSION;
        made.made = clock_.wall();
        made.functions_without_code = left_out;
        return made;
    }

private:
    // The machine code of the hottest functions; of a bundle of those that it holds. How many are left out.
    std::uint64_t keep_code(CaptureAnalysis& analysis, std::vector<CountedFunction> functions) {
        std::uint64_t bytes = 0;
        std::vector<FunctionCode> kept;
        auto* evidence = analysis.evidence();
        for (auto& function : functions) {
            if (kept.size() == options_.most_functions) break;
            if (function.size > options_.most_code_bytes - bytes) continue;
            if (evidence != nullptr && !evidence->has_code(function)) continue;
            bytes += function.size;
            kept.emplace_back().function = std::move(function);
        }
        if (evidence != nullptr) {
            for (auto& code : kept) evidence->find_code(code);
        } else {
            find_codes(kept, analysis, capture_.reader->host(), options_.symbols, clock_);
        }
        for (const auto& code : kept) analysis.recorder()->add_code(code);
        return functions.size() - kept.size();
    }

    OpenedCapture capture_;
    const BundleOptions& options_;
    const Clock& clock_;
};

void count(const Evidence& evidence, BundleSummary& summary) {
    for (const auto& dso : evidence.dsos) {
        for (const auto& address : dso.addresses) {
            ++summary.addresses;
            if (evidence.symbols[address.symbol].reason == UnknownReason::kNone) ++summary.named;
            if (address.chain != 0) ++summary.with_lines;
        }
    }
    for (const auto& code : evidence.codes) {
        if (!code.code.empty()) ++summary.functions_with_code;
    }
    summary.functions_without_code =
        evidence.functions_without_code + evidence.codes.size() - summary.functions_with_code;
}

}  // namespace

Result<BundleSummary> write_bundle(const std::string& capture, const std::string& output, const BundleOptions& options,
                                   const Clock& clock) {
    auto draft = DraftFile::create(output);
    if (!draft) return fail(std::move(draft.error()));
    if (auto copied = copy_capture(capture, *draft); !copied) return fail(std::move(copied.error()));
    auto opened = open_capture(draft->name());
    if (!opened) return fail(std::move(opened.error()).at(capture));
    const std::uint64_t capture_size = opened->capture_size;
    BundleSummary summary;
    auto evidence = Bundling(std::move(*opened), options, clock).evidence(summary);
    if (!evidence) return fail(std::move(evidence.error()).at(capture));
    count(*evidence, summary);

    // A bundle's own evidence makes room for the new one.
    if (::ftruncate(draft->fd(), static_cast<off_t>(capture_size)) != 0) return fail_errno(errno, output);
    if (::lseek(draft->fd(), 0, SEEK_END) < 0) return fail_errno(errno, output);
    auto bytes = encode_evidence(*evidence);
    summary.capture_bytes = capture_size;
    summary.evidence_bytes = bytes.size();
    collector::append_trailer(collector::FilePart::kEvidence, capture_size, bytes, bytes);
    if (auto written = write_all(draft->fd(), bytes); !written) return fail(std::move(written.error()).at(output));
    if (auto published = draft->publish(); !published) return fail(std::move(published.error()));
    return summary;
}

}  // namespace perfvigil::analyzer
