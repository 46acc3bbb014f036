// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/capture_writer.hpp"

#include <algorithm>

#include <gtest/gtest.h>

#include "collector/capture_reader.hpp"
#include "tests/support/capture_memory_file.hpp"
#include "tests/support/capture_stream.hpp"
#include "tests/support/record_bytes.hpp"
#include "tests/support/temp_folder.hpp"

namespace perfvigil::collector {
namespace {

using namespace perfvigil::test;
using Kept = KeepingSink::Kept;

// Hands the stream to a writer, and keeps it beside.
class WritingSink final : public RecordSink {
public:
    WritingSink(CaptureWriter& writer, const EventTable& events) : kept(events), writer_(writer) {}
    void on_record(const OrderedRecord& record) override {
        kept.on_record(record);
        writer_.write(record);
        if (flush_each) {
            EXPECT_TRUE(writer_.flush().has_value());
        }
    }
    void on_cut(const Cut& cut) override {
        kept.on_cut(cut);
        writer_.cut(cut);
    }

    KeepingSink kept;
    bool flush_each = false;

private:
    CaptureWriter& writer_;
};

struct Written {
    std::shared_ptr<MemoryFile> file = std::make_shared<MemoryFile>();
    std::unique_ptr<CaptureWriter> writer;
};

Written open_writer(CaptureStream& stream, CaptureOptions options) {
    Written written;
    auto made = CaptureWriter::create(std::make_unique<MemoryCaptureFile>(written.file), stream.events(), stream.host(),
                                      stream.processes(), std::move(options));
    EXPECT_TRUE(made.has_value());
    written.writer = std::move(*made);
    return written;
}

struct ReadBack {
    std::unique_ptr<CaptureReader> reader;
    std::unique_ptr<KeepingSink> sink;
};

ReadBack read_back(std::vector<std::byte> bytes) {
    ReadBack back;
    auto reader = CaptureReader::from_bytes(std::move(bytes), "test");
    if (!reader) {
        ADD_FAILURE() << reader.error().message;
        return back;
    }
    back.reader = std::move(*reader);
    back.sink = std::make_unique<KeepingSink>(back.reader->events());
    EXPECT_TRUE(back.reader->finish(*back.sink).has_value());
    return back;
}

std::uint32_t type_of(const Kept& kept) { return peek_header(kept.bytes)->type; }

// What the writer may add: state, and LOST_SAMPLES never reaches the sink.
bool is_state(const Kept& kept) {
    const auto type = type_of(kept);
    return type == kRecordComm || type == kRecordMmap2 || type == kRecordCgroup;
}

// `written` in order within `read`; what is left over is returned.
std::vector<Kept> without(const std::vector<Kept>& read, const std::vector<Kept>& written) {
    std::vector<Kept> extra;
    auto next = written.begin();
    for (const Kept& kept : read) {
        if (next != written.end() && kept == *next)
            ++next;
        else
            extra.push_back(kept);
    }
    EXPECT_EQ(written.end() - next, 0) << "records are missing or changed";
    return extra;
}

void expect_equal(const Cut& a, const Cut& b) {
    EXPECT_EQ(a.time, b.time);
    EXPECT_EQ(a.wall, b.wall);
    EXPECT_EQ(a.lost_side_band, b.lost_side_band);
    EXPECT_EQ(a.clock_stepped, b.clock_stepped);
    EXPECT_EQ(a.last, b.last);
    ASSERT_EQ(a.cpu_times.size(), b.cpu_times.size());
    for (std::size_t i = 0; i < a.cpu_times.size(); ++i) {
        EXPECT_EQ(a.cpu_times[i].cpu, b.cpu_times[i].cpu);
        EXPECT_EQ(a.cpu_times[i].user, b.cpu_times[i].user);
        EXPECT_EQ(a.cpu_times[i].system, b.cpu_times[i].system);
        EXPECT_EQ(a.cpu_times[i].idle, b.cpu_times[i].idle);
    }
}

class CaptureRoundTrip : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Levels, CaptureRoundTrip, testing::Values(0, 1, 3, 9));

TEST_P(CaptureRoundTrip, RecordsCutsAndEventsComeBackAsTheyWere) {
    CaptureStream stream({.change_rate = true});
    auto [file, writer] = open_writer(stream, {.compression_level = GetParam()});
    WritingSink sink(*writer, stream.events());
    stream.play(sink);
    ASSERT_TRUE(writer->finish().has_value());
    ASSERT_TRUE(file->committed);
    EXPECT_EQ(writer->samples(), stream.samples());

    const auto back = read_back(file->bytes);
    ASSERT_TRUE(back.reader);
    EXPECT_TRUE(back.reader->ours());
    EXPECT_TRUE(back.reader->warnings().empty()) << back.reader->warnings().front();
    for (const Kept& extra : without(back.sink->records, sink.kept.records)) EXPECT_TRUE(is_state(extra));
    EXPECT_EQ(back.reader->counts().samples, stream.samples());
    EXPECT_EQ(back.reader->counts().unknown_ids, 0U);

    ASSERT_EQ(back.sink->cuts.size(), sink.kept.cuts.size());
    for (std::size_t i = 0; i < sink.kept.cuts.size(); ++i) expect_equal(back.sink->cuts[i], sink.kept.cuts[i]);

    const EventTable& events = back.reader->events();
    ASSERT_EQ(events.events().size(), 3U);
    EXPECT_EQ(events.events()[0].name, "cpu-clock");
    EXPECT_EQ(events.events()[2].role, EventRole::kSideBand);
    ASSERT_EQ(events.instances().size(), stream.events().instances().size());
    for (const auto& [id, instance] : stream.events().instances()) {
        const EventInstance* read = events.find(id);
        ASSERT_NE(read, nullptr);
        EXPECT_EQ(read->event, instance.event);
        EXPECT_EQ(read->cpu, instance.cpu);
        EXPECT_EQ(read->generation, instance.generation);
        EXPECT_EQ(read->nominal_period, instance.nominal_period);
        EXPECT_EQ(read->period_or_freq, instance.period_or_freq);
        EXPECT_TRUE(read->layout == instance.layout);
    }
}

TEST(CaptureWriter, HostFactsComeBackAsTheyWere) {
    CaptureStream stream({.slices = 2});
    auto [file, writer] = open_writer(stream, {.command_line = "perfvigil record -a -d 2s"});
    WritingSink sink(*writer, stream.events());
    stream.play(sink);
    ASSERT_TRUE(writer->finish().has_value());

    const auto back = read_back(file->bytes);
    ASSERT_TRUE(back.reader);
    const HostFacts& read = back.reader->host();
    const HostFacts& host = stream.host();
    EXPECT_EQ(read.hostname, host.hostname);
    EXPECT_EQ(read.os_release, host.os_release);
    EXPECT_EQ(read.os_version, host.os_version);
    EXPECT_EQ(read.architecture, host.architecture);
    EXPECT_EQ(read.cpu_description, host.cpu_description);
    EXPECT_EQ(read.cpuid, host.cpuid);
    EXPECT_EQ(read.total_memory_kib, host.total_memory_kib);
    EXPECT_EQ(read.cpus_online, host.cpus_online);
    EXPECT_EQ(read.command_line, "perfvigil record -a -d 2s");
    EXPECT_EQ(read.kernel_build_id, host.kernel_build_id);
    EXPECT_EQ(read.kernel_start, host.kernel_start);
    EXPECT_EQ(read.kernel_end, host.kernel_end);
    EXPECT_EQ(read.modules, host.modules);
    ASSERT_EQ(read.text_ranges.size(), 1U);
    EXPECT_EQ(read.text_ranges[0].end, host.text_ranges[0].end);
    EXPECT_EQ(read.vulnerabilities, host.vulnerabilities);
    EXPECT_EQ(read.degraded, host.degraded);
    EXPECT_EQ(read.scope, host.scope);
    EXPECT_EQ(read.wall_reference, host.wall_reference);
    EXPECT_EQ(read.monotonic_reference, host.monotonic_reference);
    // The start, then every cut.
    ASSERT_EQ(read.cpu_times.size(), 3U);
    EXPECT_EQ(read.cpu_times[0].time, host.cpu_times[0].time);
    EXPECT_EQ(read.cpu_times[2].cpus[0].user, 1005U);
}

TEST(CaptureWriter, ModulesThatAreLoadedLaterAreFactsAndMappings) {
    CaptureStream stream({.slices = 2});
    auto [file, writer] = open_writer(stream, {});
    WritingSink sink(*writer, stream.events());
    stream.play(sink);
    const KernelModule late{.name = "late",
                            .path = "/lib/modules/6.1/extra/late.ko",
                            .start = 0xffffffffc0900000,
                            .size = 0x4000,
                            .build_id = {},
                            .sections = {{".text", 0xffffffffc0900000}}};
    Cut cut;
    cut.time = sink.kept.cuts.back().time + std::chrono::seconds(1);
    cut.modules = {late};
    writer->cut(cut);
    cut.time += std::chrono::seconds(1);
    cut.modules = {late};  // found again: said once
    cut.last = true;
    writer->cut(cut);
    ASSERT_TRUE(writer->finish().has_value());
    const auto back = read_back(file->bytes);
    auto expected = stream.host().modules;
    expected.push_back(late);
    EXPECT_EQ(back.reader->host().modules, expected);
    const auto layout = RecordLayout::of(test::side_band_attr());
    std::size_t mappings = 0;
    for (const Kept& kept : back.sink->records) {
        if (type_of(kept) != kRecordMmap2 && type_of(kept) != kRecordMmap) continue;
        const auto record = decode_record(kept.bytes, layout);
        ASSERT_TRUE(record);
        const auto& mmap = std::get<MmapRecord>(*record);
        if (mmap.path != late.path) continue;
        ++mappings;
        EXPECT_EQ(mmap.start, late.start);
        EXPECT_EQ(mmap.pid, Pid{-1});
    }
    EXPECT_GE(mappings, 1U);
}

TEST(CaptureWriter, BuildIdsOfKernelModulesAndFilesAreListed) {
    CaptureStream stream;
    auto [file, writer] = open_writer(stream, {});
    WritingSink sink(*writer, stream.events());
    stream.play(sink);
    ASSERT_TRUE(writer->finish().has_value());
    const auto back = read_back(file->bytes);
    std::vector<std::string> paths;
    for (const auto& entry : back.reader->build_ids()) paths.push_back(entry.path);
    EXPECT_EQ(paths, (std::vector<std::string>{"[kernel.kallsyms]", "[loop]", "/usr/bin/shorty", "/usr/bin/worker",
                                               "/usr/lib/plugin.so"}));
    EXPECT_EQ(back.reader->build_ids()[0].build_id, stream.host().kernel_build_id);
}

TEST(CaptureWriter, WhatARingLostSinceTheFileBeganIsSaidOnce) {
    CaptureStream stream({.slices = 4, .lost_per_slice = 7});
    auto [file, writer] = open_writer(stream, {});
    WritingSink sink(*writer, stream.events());
    stream.play(sink);
    ASSERT_TRUE(writer->finish().has_value());
    const auto back = read_back(file->bytes);
    EXPECT_EQ(back.reader->counts().lost_samples, 28U);
    // Sinks have it from the READ records; a LOST_SAMPLES beside them would count it twice.
    EXPECT_TRUE(std::none_of(back.sink->records.begin(), back.sink->records.end(),
                             [](const Kept& kept) { return type_of(kept) == kRecordLostSamples; }));
}

// What a capture says that begins when the recording has long been running.
class LateCapture : public testing::Test {
protected:
    LateCapture() {
        baseline_events(0, 2);
        written_ = open_writer(stream_, {.baseline = &baseline_});
        WritingSink sink(*written_.writer, stream_.events());
        stream_.play_slices(sink, 2, 4);
        kept_ = std::move(sink.kept.records);
        EXPECT_TRUE(written_.writer->finish().has_value());
        back_ = read_back(written_.file->bytes);
    }
    void baseline_events(unsigned first, unsigned last) { stream_.play_slices(baseline_, first, last); }

    CaptureStream stream_{{.slices = 4, .lost_per_slice = 5}};
    CaptureBaseline baseline_;
    Written written_;
    std::vector<Kept> kept_;
    ReadBack back_;
};

TEST_F(LateCapture, TellsOfAProcessBeforeItsFirstSample) {
    ProcessTable processes;
    std::size_t samples = 0;
    struct Check final : RecordSink {
        ProcessTable& table;
        std::size_t& seen;
        Check(ProcessTable& t, std::size_t& s) : table(t), seen(s) {}
        void on_record(const OrderedRecord& record) override {
            table.apply(record.record);
            const auto* sample = std::get_if<SampleRecord>(&record.record);
            if (sample == nullptr || sample->sample.pid.value <= 0) return;
            ++seen;
            const Process* process = table.find(sample->sample.pid);
            ASSERT_NE(process, nullptr);
            EXPECT_FALSE(process->maps_incomplete);
            EXPECT_NE(process->maps.find(sample->ip), nullptr);
            const bool helper = sample->sample.tid.value == 101;
            const bool worker = process->pid.value == 100;
            EXPECT_EQ(table.comm(process->pid, sample->sample.tid), helper   ? "helper \tthread"
                                                                    : worker ? "worker"
                                                                             : "shorty");
            if (worker) {
                EXPECT_EQ(table.cgroup_path(sample->cgroup), "/system.slice/worker.service");
            }
        }
        void on_cut(const Cut&) override {}
    } check(processes, samples);
    auto reader = CaptureReader::from_bytes(written_.file->bytes, "test");
    ASSERT_TRUE((*reader)->finish(check).has_value());
    EXPECT_GT(samples, 500U);
}

TEST_F(LateCapture, StateIsNeverLaterThanTheSampleThatNeedsIt) {
    std::uint64_t newest = 0;
    for (const Kept& kept : back_.sink->records) {
        if (type_of(kept) == kRecordRead || kept.time == 0) continue;
        if (is_state(kept)) {
            EXPECT_GE(kept.time, newest);
        }
        newest = std::max(newest, kept.time);
    }
}

TEST_F(LateCapture, WritesStateOncePerImage) {
    const auto added = without(back_.sink->records, kept_);
    std::size_t comms = 0;
    std::size_t maps = 0;
    for (const Kept& kept : added) {
        comms += type_of(kept) == kRecordComm ? 1 : 0;
        maps += type_of(kept) == kRecordMmap2 ? 1 : 0;
    }
    EXPECT_EQ(comms, 2U);           // worker and its helper; children are born in the file
    EXPECT_EQ(maps, 2U + 2U + 3U);  // kernel, module; program, library; plugins of slices 0, 1, 2
}

TEST_F(LateCapture, CountersContinueFromWhereTheFileBegan) {
    EXPECT_EQ(back_.reader->counts().lost_samples, 10U);  // two slices of 5, not the earlier ones
    const auto first_sample = std::find_if(back_.sink->records.begin(), back_.sink->records.end(),
                                           [](const Kept& kept) { return type_of(kept) == kRecordSample; });
    const auto reads = std::count_if(back_.sink->records.begin(), first_sample,
                                     [](const Kept& kept) { return type_of(kept) == kRecordRead; });
    EXPECT_EQ(reads, 4);
    const auto symbols = std::count_if(back_.sink->records.begin(), first_sample,
                                       [](const Kept& kept) { return type_of(kept) == kRecordKsymbol; });
    EXPECT_EQ(symbols, 3);  // of slices 0 and 1, and the file's own
    ASSERT_FALSE(back_.reader->host().cpu_times.empty());
    EXPECT_EQ(to_ns(back_.reader->host().cpu_times.front().time), CaptureStream::kStart + 2 * CaptureStream::kSlice);
    ASSERT_EQ(back_.sink->cuts.size(), 2U);
    EXPECT_TRUE(back_.sink->cuts.back().last);
}

TEST(CaptureWriter, AKilledRecorderLeavesItsRecordsToTheLastWholeOne) {
    for (const int level : {0, 3}) {
        CaptureStream stream({.slices = 3, .samples_per_slice = 300, .change_rate = true});
        auto [file, writer] = open_writer(stream, {.compression_level = level});
        WritingSink sink(*writer, stream.events());
        sink.flush_each = true;
        stream.play(sink);
        ASSERT_TRUE(writer->flush().has_value());
        const std::vector<std::byte> bytes = file->bytes;  // never finished
        const auto whole = read_back(bytes);
        EXPECT_EQ(whole.reader->counts().samples, stream.samples());
        const std::size_t head = bytes.size() - (bytes.size() % 8);
        std::uint64_t before = 0;
        for (std::size_t length = head / 40; length <= bytes.size(); length += bytes.size() / 97) {
            auto reader = CaptureReader::from_bytes(
                {bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(length)}, "killed");
            if (!reader) continue;  // cut within the head, of which nothing can be read
            KeepingSink kept((*reader)->events());
            (void)(*reader)->finish(kept);
            EXPECT_GE((*reader)->counts().samples, before);
            before = (*reader)->counts().samples;
            if (before == 0) continue;
            EXPECT_TRUE((*reader)->ours());
            EXPECT_EQ((*reader)->host().hostname, "stream");
            EXPECT_EQ((*reader)->counts().unknown_ids, 0U);
            EXPECT_FALSE((*reader)->warnings().empty());
            EXPECT_TRUE(kept.cuts.back().last);
            EXPECT_LE(kept.records.size(), whole.sink->records.size());
            EXPECT_TRUE(std::equal(kept.records.begin(), kept.records.end(), whole.sink->records.begin()));
        }
        EXPECT_GT(before, stream.samples() * 9 / 10);
    }
}

TEST(CaptureWriter, AKilledRecordersSlicesAreCutWhereTheyWere) {
    CaptureStream stream({.slices = 3});
    auto [file, writer] = open_writer(stream, {});
    WritingSink sink(*writer, stream.events());
    stream.play(sink);
    ASSERT_TRUE(writer->flush().has_value());
    const auto back = read_back(file->bytes);
    ASSERT_EQ(back.sink->cuts.size(), 4U);  // three round marks, and the end
    for (std::size_t i = 0; i < 3; ++i) {
        EXPECT_GE(back.sink->cuts[i].time, sink.kept.cuts[i].time);
        EXPECT_LT(back.sink->cuts[i].time - sink.kept.cuts[i].time, std::chrono::milliseconds(1));
    }
}

TEST(CaptureWriter, EventsBeyondTheReservedRoomAreKept) {
    CaptureStream stream({.slices = 1});
    auto [file, writer] = open_writer(stream, {});
    auto& events = const_cast<EventTable&>(stream.events());
    WritingSink sink(*writer, events);
    for (std::uint32_t i = 0; i < 2000; ++i) {
        EventInstance instance = *events.find(EventId{1000});
        instance.generation = 2 + i;
        instance.period_or_freq = 10 + i;
        events.add_instance(EventId{50000 + i}, instance);
    }
    stream.play(sink);
    ASSERT_TRUE(writer->flush().has_value());
    ASSERT_TRUE(writer->finish().has_value());
    const auto back = read_back(file->bytes);
    ASSERT_TRUE(back.reader);
    EXPECT_EQ(back.reader->counts().samples, stream.samples());
    const EventInstance* last = back.reader->events().find(EventId{51999});
    ASSERT_NE(last, nullptr);
    EXPECT_EQ(last->generation, 2001U);
    EXPECT_EQ(last->event, EventIndex{0});
    EXPECT_EQ(last->period_or_freq, 2009U);
}

TEST(CaptureWriter, IdsThatAreGoneFromTheTableStillNameTheirRecords) {
    CaptureStream stream({.slices = 2, .change_rate = true});
    auto [file, writer] = open_writer(stream, {});
    WritingSink sink(*writer, stream.events());
    stream.play(sink);
    auto& events = const_cast<EventTable&>(stream.events());
    for (std::uint64_t id = 1000; id < 1100; ++id) events.remove_instance(EventId{id});
    ASSERT_TRUE(writer->finish().has_value());
    const auto back = read_back(file->bytes);
    EXPECT_EQ(back.reader->counts().unknown_ids, 0U);
    EXPECT_EQ(back.reader->counts().samples, stream.samples());
}

TEST(CaptureWriter, WritingTouchesNoFileBeforeFlush) {
    CaptureStream stream;
    auto [file, writer] = open_writer(stream, {.compression_level = 0});
    EXPECT_EQ(file->appends, 0U);
    WritingSink sink(*writer, stream.events());
    stream.play(sink);
    EXPECT_EQ(file->appends, 0U);
    const auto expected = writer->bytes_written();
    ASSERT_TRUE(writer->flush().has_value());
    EXPECT_EQ(file->appends, 1U);
    EXPECT_EQ(file->bytes.size(), expected);
    EXPECT_EQ(writer->bytes_written(), expected);
}

TEST(CaptureWriter, AFullDiskIsSaid) {
    CaptureStream stream;
    auto [file, writer] = open_writer(stream, {});
    WritingSink sink(*writer, stream.events());
    stream.play(sink);
    file->full = true;
    const auto flushed = writer->flush();
    ASSERT_FALSE(flushed.has_value());
    EXPECT_EQ(flushed.error().code, ErrorCode::kExhausted);
}

TEST(CaptureWriter, AFileHasItsNameWhenItIsWhole) {
    const TempFolder folder;
    CaptureStream stream;
    const std::string path = folder / "a.perf.data";
    auto writer = CaptureWriter::create(path, stream.events(), stream.host(), stream.processes(), {});
    ASSERT_TRUE(writer.has_value());
    EXPECT_EQ((*writer)->path(), path);
    WritingSink sink(**writer, stream.events());
    stream.play(sink);
    EXPECT_FALSE(std::filesystem::exists(path));
    EXPECT_TRUE(std::filesystem::exists(partial_capture_path(path)));
    ASSERT_TRUE((*writer)->finish().has_value());
    EXPECT_TRUE(std::filesystem::exists(path));
    EXPECT_FALSE(std::filesystem::exists(partial_capture_path(path)));
    auto reader = CaptureReader::open(path);
    ASSERT_TRUE(reader.has_value());
    EXPECT_EQ((*reader)->name(), path);
}

TEST(CaptureWriter, AFolderThatIsNotThereIsNamed) {
    CaptureStream stream;
    const auto writer =
        CaptureWriter::create("/nonexistent/a.perf.data", stream.events(), stream.host(), stream.processes(), {});
    ASSERT_FALSE(writer.has_value());
    EXPECT_NE(writer.error().message.find("/nonexistent"), std::string::npos);
}

TEST(CaptureWriter, RecordsOfTheOtherByteOrderAreRefused) {
    CaptureStream stream({.slices = 1});
    auto [file, writer] = open_writer(stream, {});
    EventInstance swapped = *stream.events().find(EventId{1000});
    swapped.layout.endian = Endian::kSwapped;
    const std::vector<std::byte> bytes(16);
    const Record record = OtherRecord{};
    writer->write({.event = &swapped, .record = record, .bytes = bytes});
    const auto flushed = writer->flush();
    ASSERT_FALSE(flushed.has_value());
    EXPECT_EQ(flushed.error().code, ErrorCode::kUnsupported);
}

TEST(CaptureWriter, CompressionHalvesAtLeast) {
    std::size_t sizes[2] = {};
    for (const int level : {0, 3}) {
        CaptureStream stream({.slices = 5, .samples_per_slice = 1000});
        auto [file, writer] = open_writer(stream, {.compression_level = level});
        WritingSink sink(*writer, stream.events());
        stream.play(sink);
        ASSERT_TRUE(writer->finish().has_value());
        sizes[level == 0 ? 0 : 1] = file->bytes.size();
    }
    EXPECT_LT(sizes[1] * 2, sizes[0]);
}

}  // namespace
}  // namespace perfvigil::collector
