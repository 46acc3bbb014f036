// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/disk_writer.hpp"

#include <pthread.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "base/text.hpp"
#include "base/time_text.hpp"
#include "collector/capture_recovery.hpp"
#include "daemon/capture_files.hpp"
#include "daemon/log.hpp"
#include "daemon/store_files.hpp"

namespace perfvigil::daemon {
namespace {

namespace fs = std::filesystem;

// Between two looks at the disk so many may ask for something.
constexpr std::size_t kMostOrders = 64;

}  // namespace

// The sampler's side of a file: every call only queues.
class DiskWriter::QueuedFile final : public collector::CaptureFile {
public:
    QueuedFile(DiskWriter& writer, FileRef file) : writer_(writer), file_(std::move(file)) {}
    ~QueuedFile() override {
        // Without a commit the file stays as far as it got; the thread closes it.
        if (committed_ || file_->failed.load(std::memory_order_acquire)) return;
        if (!writer_.submit({file_, Kind::kAbandon, 0, {}})) {
            writer_.abandoned_.fetch_add(1, std::memory_order_relaxed);
        }
    }

    Result<void> append(std::vector<std::byte> bytes) override {
        return writer_.submit({file_, Kind::kAppend, 0, std::move(bytes)});
    }
    Result<void> write_at(std::uint64_t offset, std::vector<std::byte> bytes) override {
        return writer_.submit({file_, Kind::kOverwrite, offset, std::move(bytes)});
    }
    Result<void> commit() override {
        auto submitted = writer_.submit({file_, Kind::kCommit, 0, {}});
        committed_ = submitted.has_value();
        return submitted;
    }
    const std::string& path() const override { return file_->path; }

private:
    DiskWriter& writer_;
    FileRef file_;
    bool committed_ = false;
};

DiskWriter::DiskWriter(std::string directory, std::uint64_t budget, Report report)
    : DiskWriter(std::move(directory), budget, std::move(report), Limits{}) {}

DiskWriter::DiskWriter(std::string directory, std::uint64_t budget, Report report, Limits limits)
    : directory_(std::move(directory)),
      report_(std::move(report)),
      limits_(limits),
      queue_(limits.waiting_operations),
      budget_(budget),
      frozen_(directory_),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

DiskWriter::~DiskWriter() {
    thread_.request_stop();
    queue_.filled().raise();
}

std::unique_ptr<collector::CaptureFile> DiskWriter::create(const std::string& name) {
    auto file = std::make_shared<File>();
    file->path = directory_ + "/" + name;
    auto queued = std::make_unique<QueuedFile>(*this, file);
    // A refusal shows at the first append.
    (void)submit({file, Kind::kOpen, 0, {}});
    return queued;
}

Result<void> DiskWriter::submit(Operation operation) {
    if (operation.file->failed.load(std::memory_order_acquire)) return fail(operation.file->failure);
    const auto bytes = operation.bytes.size();
    const auto waiting = waiting_bytes_.load(std::memory_order_relaxed);
    if (waiting + bytes > limits_.waiting_bytes) {
        return fail(ErrorCode::kBusy, "the disk of captures.dir is too slow: " + human_bytes(waiting) + " wait for it");
    }
    waiting_bytes_.fetch_add(bytes, std::memory_order_relaxed);
    if (!queue_.try_push(std::move(operation))) {
        waiting_bytes_.fetch_sub(bytes, std::memory_order_relaxed);
        return fail(ErrorCode::kBusy, "the disk of captures.dir is too slow: its queue is full");
    }
    return {};
}

void DiskWriter::run(const std::stop_token& stop) {
    ::pthread_setname_np(::pthread_self(), "captures");
    std::error_code error;
    fs::create_directories(directory_, error);
    frozen_.open();
    // Now nothing is being recorded into a freeze.
    std::vector<std::string> folders{directory_};
    for (const auto& frozen : *frozen_.list()) folders.push_back(frozen_.folder_of(frozen.id));
    make_whole(folders);
    enforce_budget("");
    while (true) {
        queue_.filled().lower();
        while (auto operation = queue_.try_pop()) perform(*operation);
        do_orders();
        if (stop.stop_requested()) break;
        queue_.filled().wait(-1);
    }
    // Pushed between the last look and the stop.
    while (auto operation = queue_.try_pop()) perform(*operation);
    do_orders();
}

// What a killed daemon or a full disk left half-written becomes whole as far as it goes. What does not (there is not
// one whole record, or still no room) keeps its temporary name.
void DiskWriter::make_whole(const std::vector<std::string>& folders) {
    if (!std::exchange(untidy_, false)) return;
    for (const auto& folder : folders) {
        for (const auto& capture : list_captures(folder)) {
            // In a freeze: what has no other name any more. Else it is done already, under that.
            if (!is_partial_capture(capture.path) || capture.path == open_ ||
                (folder != directory_ && capture.names > 1))
                continue;
            if (capture.bytes == 0) {  // killed before anything of it was written
                std::error_code ignored;
                fs::remove(capture.path, ignored);
                continue;
            }
            const auto made = collector::recover_capture(capture.path);
            if (made)
                log::info("capture that was not finished is whole up to its last record",
                          {{"file", made->path}, {"bytes", made->bytes}, {"torn", made->torn}});
            else
                log::info("capture was not finished and cannot be made whole", {{"why", made.error().message}});
        }
    }
    frozen_.on_file_ended();
}

bool DiskWriter::order(std::function<void(FrozenCaptures&)> work) {
    {
        const std::lock_guard lock(orders_mutex_);
        if (orders_.size() >= kMostOrders) return false;
        orders_.push_back(std::move(work));
    }
    queue_.filled().raise();
    return true;
}

void DiskWriter::do_orders() {
    std::vector<std::function<void(FrozenCaptures&)>> orders;
    {
        const std::lock_guard lock(orders_mutex_);
        orders.swap(orders_);
    }
    if (orders.empty()) return;
    frozen_.set_budget(frozen_budget_.load(std::memory_order_relaxed));
    for (const auto& order : orders) order(frozen_);
    enforce_budget("");
}

void DiskWriter::perform(Operation& operation) {
    File& file = *operation.file;
    const auto bytes = operation.bytes.size();
    if (!file.failed.load(std::memory_order_relaxed)) {
        if (auto done = perform_on(file, operation); !done) {
            file.direct.reset();
            open_.clear();
            untidy_ = true;
            file.failure = std::move(done.error());
            report_(file.failure);
            abandoned_.fetch_add(1, std::memory_order_relaxed);
            file.failed.store(true, std::memory_order_release);
        }
    }
    waiting_bytes_.fetch_sub(bytes, std::memory_order_relaxed);
}

Result<void> DiskWriter::perform_on(File& file, Operation& operation) {
    if (operation.kind == Kind::kOpen) return open(file);
    // The opening found no room in the queue.
    if (file.direct == nullptr) return fail(ErrorCode::kBusy, file.path + ": was never opened");
    switch (operation.kind) {
        case Kind::kOpen: break;
        case Kind::kAppend:
            bytes_on_disk_.fetch_add(operation.bytes.size(), std::memory_order_relaxed);
            return file.direct->append(std::move(operation.bytes));
        case Kind::kOverwrite: return file.direct->write_at(operation.offset, std::move(operation.bytes));
        case Kind::kCommit: return commit(file);
        case Kind::kAbandon:
            file.direct.reset();
            abandoned_.fetch_add(1, std::memory_order_relaxed);
            open_.clear();
            untidy_ = true;
            make_whole({directory_});
            enforce_budget("");
            break;
    }
    return {};
}

Result<void> DiskWriter::open(File& file) {
    std::error_code error;
    fs::create_directories(directory_, error);
    if (error) return fail_errno(error.value(), directory_);
    auto direct = collector::create_capture_file(file.path);
    if (!direct) return fail(std::move(direct.error()));
    file.direct = std::move(*direct);
    open_ = collector::partial_capture_path(file.path);
    files_on_disk_.fetch_add(1, std::memory_order_relaxed);
    return {};
}

Result<void> DiskWriter::commit(File& file) {
    auto committed = file.direct->commit();
    if (!committed) return committed;
    file.direct.reset();
    open_.clear();
    report_(std::nullopt);
    frozen_.on_file_ended();
    make_whole({directory_});
    enforce_budget(file.path);
    return {};
}

// `current` is the newest and stays, however large. What is frozen counts there: here it goes when its time is over, so
// that this folder holds what was recorded last.
void DiskWriter::enforce_budget(const std::string& current) {
    const auto captures = list_captures(directory_);
    const auto counted = [](const CaptureFileInfo& capture) { return capture.names == 1 ? capture.bytes : 0; };
    std::uint64_t total = 0;
    for (const auto& capture : captures) total += counted(capture);
    std::size_t count = captures.size();
    auto budget = budget_.load(std::memory_order_relaxed);
    const auto free = free_bytes(directory_);
    // What the file at hand added is taken from the oldest.
    if (free && *free < free_limit_.load(std::memory_order_relaxed)) {
        budget = std::min(budget, settled_bytes_ - std::min(settled_bytes_, frozen_.bytes()));
    }
    const Nanoseconds keep(keep_.load(std::memory_order_relaxed));
    const auto too_old = keep == Nanoseconds{} ? std::string() : compact_time(system_clock().wall() - keep);
    for (const auto& capture : captures) {
        // Names begin with the time, so they are in its order.
        const bool old = base_name(capture.path).substr(0, too_old.size()) < too_old;
        if ((total <= budget && !old) || count <= 1) break;
        if (capture.path == current) continue;
        if (!old && counted(capture) == 0) continue;
        std::error_code error;
        if (!fs::remove(capture.path, error)) continue;
        log::debug("oldest capture removed", {{"file", capture.path}, {"bytes", capture.bytes}});
        total -= counted(capture);
        --count;
    }
    settled_bytes_ = total + frozen_.bytes();
    bytes_on_disk_.store(total, std::memory_order_relaxed);
    files_on_disk_.store(count, std::memory_order_relaxed);
    frozen_bytes_.store(frozen_.bytes(), std::memory_order_relaxed);
}

}  // namespace perfvigil::daemon
