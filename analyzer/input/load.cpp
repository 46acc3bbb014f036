// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/input/load.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <utility>

#include "analyzer/bundle/open_capture.hpp"
#include "analyzer/capture_analysis.hpp"
#include "analyzer/input/byte_source.hpp"
#include "analyzer/input/cpu_profile.hpp"
#include "analyzer/input/folded.hpp"
#include "analyzer/input/gzip_source.hpp"
#include "analyzer/input/perf_report.hpp"
#include "analyzer/input/perf_script.hpp"
#include "analyzer/input/pprof.hpp"
#include "analyzer/input/recognize.hpp"
#include "analyzer/input/text_lines.hpp"
#include "analyzer/input/utf16_source.hpp"
#include "analyzer/profile/codec.hpp"
#include "base/text.hpp"

namespace perfvigil::analyzer {
namespace {

// Kinds that are read whole; far above any of their files.
constexpr std::size_t kMostWhole = std::size_t{1} << 30;

bool is_kind(const std::string& path, mode_t kind) {
    struct stat st{};
    return ::stat(path.c_str(), &st) == 0 && (st.st_mode & S_IFMT) == kind;
}

Result<UniqueFd> open_input(const std::string& path) {
    if (path != "-") return open_file(path, O_RDONLY);
    UniqueFd copy(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0));
    if (!copy) return fail_errno(errno, "standard input");
    return copy;
}

class Input {
public:
    Input(std::string path, const LoadOptions& options, const Clock& clock)
        : path_(std::move(path)), name_(path_), options_(options), clock_(clock) {
        if (path_ == "-") name_ = "standard input";
    }

    [[nodiscard]] Result<Profile> read() {
        if (is_kind(path_, S_IFDIR)) {
            if (is_kind(path_ + "/data", S_IFREG)) return capture(open_capture(path_));
            return fail(ErrorCode::kInvalid, name_ +
                                                 ": a folder without a file 'data': not one of those that perf record "
                                                 "writes with --threads");
        }
        auto format = open();
        if (!format) return fail(std::move(format.error()));
        if (*format == InputFormat::kCapture) return capture(opened_capture());
        if (auto judged = judge_selection(*format); !judged) return fail(std::move(judged.error()).at(name_));
        auto profile = read_as(*format);
        if (!profile) return fail(std::move(profile.error()).at(name_));
        if (*format != InputFormat::kProfile) profile->id = base_name(path_);
        return profile;
    }

private:
    [[nodiscard]] Result<InputFormat> open();
    [[nodiscard]] Result<void> judge_selection(InputFormat format) const;
    [[nodiscard]] bool can_be_read_again() const { return path_ == "-" ? start_ >= 0 : is_kind(path_, S_IFREG); }
    // Reads the same input from its start, whatever of it was read here, to find its first and last sample.
    [[nodiscard]] Result<std::optional<SampleSpan>> first_pass() const;
    [[nodiscard]] Result<std::optional<SampleSpan>> find_span(InputFormat format);
    // Unwraps what packs the content on the way.
    [[nodiscard]] Result<InputFormat> recognize();
    template <class Outer, class... More>
    void wrap(More... more) {
        source_ = std::make_unique<PeekedSource>(std::make_unique<Outer>(std::move(source_), more...));
        file_ = nullptr;
    }
    [[nodiscard]] Result<OpenedCapture> opened_capture();
    [[nodiscard]] Result<Profile> capture(Result<OpenedCapture> opened) const;
    [[nodiscard]] Result<Profile> read_as(InputFormat format);
    [[nodiscard]] Result<Profile> read_script(TextLines& lines);
    template <class Read>
    [[nodiscard]] Result<Profile> read_whole(Read&& read);

    std::string path_;
    std::string name_;  // for people
    const LoadOptions& options_;
    const Clock& clock_;
    std::unique_ptr<PeekedSource> source_;
    off_t start_ = 0;           // of standard input; -1: it has none
    FdSource* file_ = nullptr;  // below source_, while nothing is between them
};

Result<InputFormat> Input::open() {
    if (path_ == "-") start_ = ::lseek(STDIN_FILENO, 0, SEEK_CUR);
    auto fd = open_input(path_);
    if (!fd) return fail(std::move(fd.error()));
    auto file = std::make_unique<FdSource>(std::move(*fd));
    file_ = file.get();
    source_ = std::make_unique<PeekedSource>(std::move(file));
    auto format = recognize();
    if (!format) return fail(std::move(format.error()).at(name_));
    return format;
}

Result<void> Input::judge_selection(InputFormat format) const {
    const SampleSelection& samples = options_.samples;
    if (samples.by_line) {
        return fail(ErrorCode::kUnsupported, "source lines are found for recordings (perf.data), this is " +
                                                 std::string(input_format_name(format)));
    }
    if (format == InputFormat::kScript || !(samples.selects() || samples.tells_apart())) return {};
    return fail(ErrorCode::kUnsupported,
                "times, CPUs, processes and threads are known of recordings (perf.data) and of texts of perf script, "
                "this is " +
                    std::string(input_format_name(format)));
}

Result<std::optional<SampleSpan>> Input::first_pass() const {
    Input pass(path_, options_, clock_);
    if (path_ != "-") {
        auto format = pass.open();
        if (!format) return fail(std::move(format.error()));
        return pass.find_span(*format);
    }
    // The copy of standard input shares its place in the file.
    const off_t here = ::lseek(STDIN_FILENO, 0, SEEK_CUR);
    if (here < 0 || ::lseek(STDIN_FILENO, start_, SEEK_SET) < 0) return fail_errno(errno, name_);
    auto format = pass.open();
    auto span = format ? pass.find_span(*format) : fail(std::move(format.error()));
    if (::lseek(STDIN_FILENO, here, SEEK_SET) < 0) return fail_errno(errno, name_);
    return span;
}

Result<std::optional<SampleSpan>> Input::find_span(InputFormat format) {
    if (format == InputFormat::kScript) {
        TextLines lines(*source_);
        return script_span(lines);
    }
    auto opened = opened_capture();
    if (!opened) return fail(std::move(opened.error()));
    return sample_span(*opened->reader);
}

Result<InputFormat> Input::recognize() {
    if (is_gzip(source_->peek(kFirstBlock))) wrap<GzipSource>();
    if (const auto order = utf16_order(source_->peek(kFirstBlock))) wrap<Utf16Source>(*order);
    const Bytes start = source_->peek(kFirstBlock);
    if (options_.format) return *options_.format;
    if (start.empty()) {
        // Nothing at all, or nothing that could be read.
        std::byte first{};
        auto got = source_->read({&first, 1});
        if (!got) return fail(std::move(got.error()));
        return fail(ErrorCode::kInvalid, "it is empty");
    }
    if (const auto binary = recognize_binary(start)) return *binary;
    return recognize_text(start);
}

Result<OpenedCapture> Input::opened_capture() {
    if (file_ == nullptr) {
        auto bytes = read_all(*source_, kMostWhole);
        if (!bytes) return fail(std::move(bytes.error()).at(name_));
        return open_capture(std::move(*bytes), name_);
    }
    if (is_kind(path_, S_IFREG)) return open_capture(path_);
    auto start = source_->take_start();
    return open_capture(file_->take_fd(), std::move(start), name_);
}

Result<Profile> Input::capture(Result<OpenedCapture> opened) const {
    if (!opened) return fail(std::move(opened.error()));
    CaptureOptions capture{.samples = options_.samples,
                           .symbols = options_.symbols,
                           .split_hybrid = options_.split_hybrid,
                           .moment = options_.moment,
                           .evidence = opened->evidence};
    if (can_be_read_again()) capture.first_pass = [this] { return first_pass(); };
    auto profile = analyze_capture(*opened->reader, std::string(base_name(path_)), capture, clock_);
    if (profile) profile->warnings.insert(profile->warnings.begin(), opened->warnings.begin(), opened->warnings.end());
    return profile;
}

template <class Read>
Result<Profile> Input::read_whole(Read&& read) {
    const auto bytes = read_all(*source_, kMostWhole);
    if (!bytes) return fail(bytes.error());
    return read(Bytes(*bytes));
}

Result<Profile> Input::read_script(TextLines& lines) {
    ScriptOptions script{.slice_length = options_.moment.count() > 0 ? kFineImportedSlice : kImportedSlice,
                         .samples = options_.samples};
    if (options_.samples.time && options_.samples.time->unit == TimeRange::Unit::kPercent) {
        if (!can_be_read_again()) return fail(ErrorCode::kUnsupported, std::string(kReadOnlyOnce));
        auto span = first_pass();
        if (!span) return fail(std::move(span.error()));
        script.span = *span;
    }
    return read_perf_script(lines, script);
}

Result<Profile> Input::read_as(InputFormat format) {
    TextLines lines(*source_);
    switch (format) {
        case InputFormat::kScript: return read_script(lines);
        case InputFormat::kFolded: return read_folded(lines);
        case InputFormat::kReport: return read_perf_report(lines);
        case InputFormat::kPprof: return read_whole(read_pprof);
        case InputFormat::kCpuProfile: return read_whole(read_cpu_profile);
        case InputFormat::kProfile: return read_whole(decode_profile);
        case InputFormat::kCapture: break;
    }
    return fail(ErrorCode::kInvalid, "not a kind of text");
}

}  // namespace

Result<Profile> load_profile(const std::string& path, const LoadOptions& options, const Clock& clock) {
    return Input(path, options, clock).read();
}

}  // namespace perfvigil::analyzer
