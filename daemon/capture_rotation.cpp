// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/capture_rotation.hpp"

#include "base/time_text.hpp"

namespace perfvigil::daemon {
namespace {

// A failed disk is tried again after this long, with a new file.
constexpr Nanoseconds kRetry = std::chrono::seconds(60);
// Between cuts bytes go to the disk's thread when so many have gathered.
constexpr std::uint64_t kFlushBytes = 1U << 20;
// Slices are aligned to wall time, which may be slewed: a file of one slice's age is cut after that slice.
constexpr Nanoseconds kCutTolerance = std::chrono::milliseconds(100);

}  // namespace

CaptureRotation::CaptureRotation(config::CaptureOptions options, DiskWriter& disk, const collector::EventTable& events,
                                 const collector::HostFacts& host, const collector::ProcessTable& processes,
                                 const Clock& clock, DiskWriter::Report report)
    : options_(std::move(options)),
      disk_(disk),
      events_(events),
      host_(host),
      processes_(processes),
      clock_(clock),
      report_(std::move(report)) {}

void CaptureRotation::begin() {
    std::string name = compact_time(clock_.wall());
    same_name_ = name == last_name_ ? same_name_ + 1 : 1;
    last_name_ = name;
    if (same_name_ > 1) name += "-" + std::to_string(same_name_);
    collector::CaptureOptions options;
    options.compression_level = static_cast<int>(options_.compression);
    options.command_line = host_.command_line;
    options.baseline = &baseline_;
    auto writer =
        collector::CaptureWriter::create(disk_.create(name + ".perf.data"), events_, host_, processes_, options);
    if (!writer) return give_up(writer.error());
    writer_ = std::move(*writer);
    begun_ = last_cut_ != MonotonicTime{} ? last_cut_ : clock_.monotonic();
    flushed_ = 0;
    current_.set(writer_->path());
}

void CaptureRotation::on_record(const collector::OrderedRecord& record) {
    write(record);
    // Last: a file that begins with this record opens with what was known before it.
    baseline_.on_record(record);
}

void CaptureRotation::write(const collector::OrderedRecord& record) {
    if (writer_ == nullptr) {
        if (paused_ || clock_.monotonic() < retry_at_) return;
        begin();
        if (writer_ == nullptr) return;
    }
    writer_->write(record);
    if (writer_->bytes_written() - flushed_ < kFlushBytes) return;
    flushed_ = writer_->bytes_written();
    if (auto flushed = writer_->flush(); !flushed) give_up(flushed.error());
}

void CaptureRotation::on_cut(const collector::Cut& cut) {
    last_cut_ = cut.time;
    baseline_.on_cut(cut);
    if (writer_ == nullptr) return;
    writer_->cut(cut);
    const bool full = writer_->bytes_written() >= options_.file_bytes;
    const bool old = cut.time - begun_ >= options_.file_age - kCutTolerance;
    const bool asked = cut_asked_.exchange(false);
    if (full || old || asked || paused_ || cut.last) return finish();
    flushed_ = writer_->bytes_written();
    if (auto flushed = writer_->flush(); !flushed) give_up(flushed.error());
}

void CaptureRotation::finish() {
    if (writer_ == nullptr) return;
    if (auto finished = writer_->finish(); !finished) return give_up(finished.error());
    writer_.reset();
    current_.set({});
}

void CaptureRotation::give_up(const Error& error) {
    writer_.reset();
    current_.set({});
    retry_at_ = clock_.monotonic() + kRetry;
    report_(error);
}

void CaptureRotation::set_limits(std::uint64_t file_bytes, Nanoseconds file_age) {
    options_.file_bytes = file_bytes;
    options_.file_age = file_age;
}

}  // namespace perfvigil::daemon
