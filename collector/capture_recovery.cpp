// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/capture_recovery.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <utility>
#include <vector>

#include "base/fd.hpp"
#include "collector/capture_facts.hpp"
#include "collector/capture_file.hpp"
#include "collector/capture_header.hpp"
#include "collector/capture_tail.hpp"
#include "collector/record.hpp"

namespace perfvigil::collector {
namespace {

struct Records {
    std::uint64_t end = 0;  // offset behind the last whole one
    bool compressed = false;
};

Records whole_records(Bytes file, std::uint64_t offset) {
    Records found{.end = offset};
    while (true) {
        const auto header = peek_header(file.subspan(found.end));
        // What a file system gives back after a power cut may be zeros.
        if (!header || header->size < kRecordHeaderSize || header->size > file.size() - found.end) return found;
        found.compressed = found.compressed || header->type == kRecordCompressed;
        found.end += header->size;
    }
}

// The events as the file's head knows them: attrs and ids of its attr section, names of its facts.
std::vector<EventDescription> descriptions_of(std::vector<StoredAttr> attrs, const CaptureFacts& facts) {
    std::vector<EventDescription> all;
    for (auto& [attr, ids] : attrs) {
        const auto of_id = [&](const CaptureFacts::Instance& instance) {
            return std::ranges::find(ids, instance.id) != ids.end();
        };
        const auto instance = std::ranges::find_if(facts.instances, of_id);
        const auto event =
            instance != facts.instances.end() && instance->event.value < facts.events.size()
                ? facts.events.begin() + instance->event.value
                : std::ranges::find_if(facts.events, [&](const EventInfo& info) { return info.attr == attr; });
        all.push_back({attr, event != facts.events.end() ? event->name : std::string(), std::move(ids)});
    }
    return all;
}

struct Plan {
    std::vector<std::byte> tail;
    std::vector<std::byte> head;  // the file header alone
    RecoveredCapture made;
};

Result<Plan> plan_recovery(Bytes file) {
    auto header = parse_capture_header(file.first(std::min<std::size_t>(file.size(), kFileHeaderSize)));
    if (!header) return fail(std::move(header.error()));
    const auto head_facts = head_facts_of(file, *header);
    if (!head_facts || header->endian != Endian::kNative || header->data.offset > file.size()) {
        return fail(ErrorCode::kInvalid, "is no capture of perfvigil's that lacks its end alone");
    }
    const auto facts = decode_capture_facts(*head_facts);
    if (!facts) return fail(facts.error());
    std::vector<std::string> warnings;
    auto attrs = read_attrs(file, *header, warnings);
    const auto records = whole_records(file, header->data.offset);
    if (attrs.empty() || records.end == header->data.offset) {
        return fail(ErrorCode::kInvalid, "holds no whole record");
    }
    Plan plan;
    plan.made.bytes = records.end - header->data.offset;
    plan.made.torn = file.size() - records.end;
    header->data.size = plan.made.bytes;
    header->features.reset();
    CaptureSummary summary;
    if (records.compressed) summary.compression = {.level = 1, .block_size = kCaptureBlockSize};
    append_features(facts->host, descriptions_of(std::move(attrs), *facts), summary, records.end, *header, plan.tail);
    append_capture_header(*header, plan.head);
    return plan;
}

Result<void> write_at(int fd, Bytes bytes, std::uint64_t offset) {
    while (!bytes.empty()) {
        const auto n = ::pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset));
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return fail_errno(errno, "writing");
        bytes = bytes.subspan(static_cast<std::size_t>(n));
        offset += static_cast<std::uint64_t>(n);
    }
    return {};
}

// The head last: as long as it says that the file was never finished, the next try finds the same records. What stands
// behind them until then begins with a number that no record's header can be.
Result<void> apply(int fd, const Plan& plan, std::uint64_t records_end) {
    if (auto written = write_at(fd, plan.tail, records_end); !written) return written;
    if (::ftruncate(fd, static_cast<off_t>(records_end + plan.tail.size())) != 0) return fail_errno(errno, "cutting");
    if (::fdatasync(fd) != 0) return fail_errno(errno, "syncing");
    if (auto written = write_at(fd, plan.head, 0); !written) return written;
    if (::fdatasync(fd) != 0) return fail_errno(errno, "syncing");
    return {};
}

}  // namespace

Result<RecoveredCapture> recover_capture(const std::string& partial) {
    const std::string suffix = partial_capture_path("");
    if (!partial.ends_with(suffix)) return fail(ErrorCode::kInvalid, partial + ": has its final name");
    const auto fd = open_file(partial, O_RDWR | O_NOFOLLOW);
    if (!fd) return fail(fd.error());
    struct stat before{};
    if (::fstat(fd->get(), &before) != 0) return fail_errno(errno, partial);
    Result<Plan> plan;
    std::uint64_t records_end = 0;
    {
        const auto file = MappedFile::map(fd->get());
        if (!file) return fail(Error(file.error()).at(partial));
        plan = plan_recovery(file->bytes());
        if (!plan) return fail(std::move(plan.error()).at(partial));
        records_end = file->bytes().size() - plan->made.torn;
    }
    if (auto done = apply(fd->get(), *plan, records_end); !done) return fail(std::move(done.error()).at(partial));
    // When it was recorded last is what it is looked for by.
    const std::array<timespec, 2> times{before.st_atim, before.st_mtim};
    (void)::futimens(fd->get(), times.data());
    plan->made.path = partial.substr(0, partial.size() - suffix.size());
    if (std::rename(partial.c_str(), plan->made.path.c_str()) != 0) return fail_errno(errno, plan->made.path);
    return std::move(plan->made);
}

}  // namespace perfvigil::collector
