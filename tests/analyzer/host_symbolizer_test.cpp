// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/symbols/host_symbolizer.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <cmath>
#include <filesystem>
#include <map>
#include <string>

#include "tests/support/elf_image.hpp"
#include "tests/support/manual_clock.hpp"
#include "tests/support/memory_file.hpp"
#include "tests/support/paths.hpp"
#include "tests/support/temp_folder.hpp"

namespace perfvigil::analyzer {
namespace {

using collector::DsoKind;
using test::build_id_of;

// Files by path, handed out whatever Dso asks.
class FakeFiles final : public FileSource {
public:
    struct File {
        std::vector<std::byte> bytes;
        BuildId build_id;
        WallTime modified{};
    };
    std::map<std::string, File> files;
    std::map<std::string, ErrorCode> errors;
    std::vector<std::string> asked;
    std::vector<std::string> released;
    BuildId last_wanted;

    Result<OpenedFileRef> file_of(const collector::Dso& dso) override {
        asked.push_back(dso.path);
        last_wanted = dso.build_id;
        if (const auto error = errors.find(dso.path); error != errors.end()) return fail(error->second, "by order");
        const auto found = files.find(dso.path);
        if (found == files.end()) return fail(ErrorCode::kNotFound, "no such file");
        OpenedFile opened;
        opened.fd = test::memory_file(found->second.bytes);
        opened.build_id = found->second.build_id;
        opened.modified = found->second.modified;
        opened.root = root;
        opened.inode = std::hash<std::string>{}(dso.path);
        return std::make_shared<const OpenedFile>(std::move(opened));
    }
    Result<void> run(std::function<void()> work) override {
        if (busy) return fail(ErrorCode::kBusy, "by order");
        work();
        return {};
    }
    void release(const collector::Dso& dso) override { released.push_back(dso.path); }

    std::shared_ptr<const UniqueFd> root;  // of all files
    bool busy = false;                     // for run()
};

class HostSymbolizerTest : public testing::Test {
protected:
    HostSymbolizerTest() : child_(child_options(), clock_) {
        options_.kallsyms = folder_.write("kallsyms", "1000 T _text\n1100 t schedule\n1200 T _etext\n");
        options_.proc = folder_ / "proc";
        options_.host_root = folder_ / "host";
        ThisHost here;
        here.hostname = "here";
        here.kernel_build_id = build_id_of("0011");
        here.boot = clock_.wall() - clock_.monotonic().time_since_epoch();
        options_.this_host = here;
    }
    static SymbolChildOptions child_options() {
        SymbolChildOptions options;
        options.program = test::kPerfvigilSymbols;
        return options;
    }
    HostSymbolizer& symbolizer() {
        if (symbolizer_ == nullptr) symbolizer_ = std::make_unique<HostSymbolizer>(options_, files_, child_, clock_);
        return *symbolizer_;
    }
    void capture_of_this_boot() {
        options_.origin = Origin::kCapture;
        options_.capture_host.hostname = "here";
        options_.capture_host.kernel_build_id = build_id_of("0011");
        options_.capture_host.kernel_start = 0x1000;
        options_.capture_host.wall_reference = clock_.wall();
        options_.capture_host.monotonic_reference = clock_.monotonic();
    }

    collector::DsoRef dso(const std::string& path, const char* build_id = "", DsoKind kind = DsoKind::kFile) {
        auto made = std::make_shared<collector::Dso>();
        made->id = collector::DsoId{++next_id_};
        made->kind = kind;
        made->path = path;
        made->first_pid = Pid{42};
        if (*build_id != '\0') made->build_id = build_id_of(build_id);
        return made;
    }
    void put_file(const std::string& path, const char* build_id, const std::string& function, bool with_symtab = true) {
        test::ElfImageSpec spec;
        if (*build_id != '\0') spec.build_id = build_id_of(build_id);
        spec.with_symtab = with_symtab;
        (with_symtab ? spec.symtab : spec.dynsym) = {{function, 0x401000, 0x100}};
        files_.files[path] = {.bytes = test::make_elf(spec), .build_id = spec.build_id};
    }
    std::string name(const collector::DsoRef& of, std::uint64_t offset) {
        const auto symbol = symbolizer().resolve(of, offset);
        if (symbol.reason != UnknownReason::kNone) {
            EXPECT_TRUE(symbol.name.empty());
            return std::string(symbol.dso) + " ?" + std::string(reason_name(symbol.reason));
        }
        return std::string(symbol.dso) + ' ' + std::string(symbol.name);
    }

    test::TempFolder folder_;
    test::ManualClock clock_;
    FakeFiles files_;
    SymbolChild child_;
    HostSymbolizerOptions options_;
    std::unique_ptr<HostSymbolizer> symbolizer_;
    std::uint32_t next_id_ = 0;
};

// Names are demangled once they are wanted: all of a slice's by one question.
TEST_F(HostSymbolizerTest, NamesManyPlacesAtOnce) {
    test::ElfImageSpec spec;
    spec.build_id = build_id_of("aa");
    spec.symtab = {{"_ZN3app3runEv", 0x401000, 0x100}, {"_ZN3app4stopEv", 0x401100, 0x100}, {"plain", 0x401200, 0x10}};
    files_.files["/bin/app"] = {.bytes = test::make_elf(spec), .build_id = spec.build_id};
    const auto app = dso("/bin/app", "aa"), gone = dso("/bin/gone", "bb");
    const std::vector<CodePlace> places{{&app, 0x1000}, {&gone, 0x10}, {&app, 0x1210}, {&app, 0x1110}, {&app, 0x1208}};
    std::vector<std::string> names;
    for (const auto& symbol : symbolizer().resolve_all(places)) names.emplace_back(symbol.name);
    EXPECT_EQ(names, (std::vector<std::string>{"app::run", "", "", "app::stop", "plain"}));
    EXPECT_EQ(child_.counters().files, 2U);  // the file, the two names
    for (std::size_t i = 0; i < places.size(); ++i) {
        EXPECT_EQ(symbolizer().resolve(*places[i].dso, places[i].offset).name, names[i]);
    }
    EXPECT_EQ(child_.counters().files, 2U);
}

TEST_F(HostSymbolizerTest, NamesFilesByOffset) {
    put_file("/bin/app", "aa", "_ZN3app3runEv");
    const auto app = dso("/bin/app", "aa");
    EXPECT_EQ(name(app, 0x1010), "/bin/app app::run");
    EXPECT_EQ(symbolizer().resolve(app, 0x1010).start, 0x1000U);
    EXPECT_EQ(symbolizer().resolve(app, 0x1010).size, 0x100U);
    EXPECT_EQ(name(app, 0x1100), "/bin/app ?outside_symbols");
    EXPECT_EQ(files_.asked.size(), 1U);
    EXPECT_EQ(files_.released, (std::vector<std::string>{"/bin/app"}));
}

TEST_F(HostSymbolizerTest, ReadsAFileOncePerBuildId) {
    put_file("/a", "aa", "f");
    put_file("/b", "aa", "f");
    EXPECT_EQ(name(dso("/a", "aa"), 0x1010), "/a f");
    EXPECT_EQ(name(dso("/b", "aa"), 0x1010), "/b f");
    EXPECT_EQ(child_.counters().files, 1U);
    EXPECT_EQ(files_.asked.size(), 1U);
    EXPECT_EQ(files_.released.size(), 2U);  // whoever opened it for /b may close it
    EXPECT_EQ(symbolizer().table_count(), 1U);
}

TEST_F(HostSymbolizerTest, SaysWhyThereIsNoName) {
    test::ElfImageSpec stripped;
    stripped.with_symtab = false;
    stripped.with_dynsym = false;
    files_.files["/stripped"] = {.bytes = test::make_elf(stripped), .build_id = {}};
    files_.files["/script"] = {.bytes = {std::byte{'#'}, std::byte{'!'}}, .build_id = {}};
    files_.errors = {{"/replaced", ErrorCode::kInvalid},
                     {"/remote", ErrorCode::kUnsupported},
                     {"/secret", ErrorCode::kPermission},
                     {"/later", ErrorCode::kBusy}};
    put_file("/dynamic", "", "exported", false);
    struct {
        const char* path;
        const char* said;
    } const cases[] = {
        {"/stripped", "stripped"}, {"/script", "unreadable"}, {"/gone", "no_file"},  {"/replaced", "build_id_mismatch"},
        {"/remote", "no_file"},    {"/secret", "no_file"},    {"/later", "pending"}, {"/dynamic", "stripped"}};
    for (const auto& [path, said] : cases) {
        EXPECT_EQ(name(dso(path), 0x1200), std::string(path) + " ?" + said);
    }
    EXPECT_EQ(name(dso("/dynamic"), 0x1010), "/dynamic exported");
}

TEST_F(HostSymbolizerTest, TriesAgainWhatMayStillCome) {
    files_.errors["/late"] = ErrorCode::kBusy;
    const auto late = dso("/late");
    EXPECT_EQ(name(late, 0x1010), "/late ?pending");
    EXPECT_EQ(name(late, 0x1010), "/late ?pending");
    EXPECT_EQ(files_.asked.size(), 1U);
    files_.errors.clear();
    put_file("/late", "", "f");
    clock_.advance(std::chrono::seconds(1));
    EXPECT_EQ(name(late, 0x1010), "/late f");

    const auto gone = dso("/gone");
    EXPECT_EQ(name(gone, 0x1010), "/gone ?no_file");
    put_file("/gone", "", "back");
    EXPECT_EQ(name(gone, 0x1010), "/gone ?no_file");
    clock_.advance(std::chrono::seconds(10));
    EXPECT_EQ(name(gone, 0x1010), "/gone back");

    files_.errors["/replaced"] = ErrorCode::kInvalid;
    const auto replaced = dso("/replaced", "aa");
    EXPECT_EQ(name(replaced, 0), "/replaced ?build_id_mismatch");
    const auto before = files_.asked.size();
    clock_.advance(std::chrono::hours(1));
    EXPECT_EQ(name(replaced, 0), "/replaced ?build_id_mismatch");
    EXPECT_EQ(files_.asked.size(), before);
}

TEST_F(HostSymbolizerTest, WithoutAChildSaysSoAndRecovers) {
    SymbolChildOptions none;
    none.program = "/nonexistent";
    SymbolChild missing(none, clock_);
    HostSymbolizer lonely(options_, files_, missing, clock_);
    put_file("/a", "", "f");
    EXPECT_EQ(lonely.resolve(dso("/a"), 0x1010).reason, UnknownReason::kPending);
    ASSERT_EQ(lonely.degraded().size(), 1U);
    EXPECT_EQ(lonely.degraded()[0].reason, "no_symbol_child");
    EXPECT_NE(lonely.degraded()[0].detail.find("/nonexistent"), std::string::npos);
}

TEST_F(HostSymbolizerTest, TablesOverTheLimitGoBetweenWindowsAndComeBack) {
    options_.table_bytes = 400;  // two of the three
    for (const char* path : {"/a", "/b", "/c"}) put_file(path, "", std::string("function_of") + path);
    const auto a = dso("/a");
    const auto b = dso("/b");
    const auto c = dso("/c");
    for (const auto& each : {a, b, c}) (void)name(each, 0x1010);
    EXPECT_EQ(symbolizer().table_count(), 3U);  // names are in use
    const auto view = symbolizer().resolve(c, 0x1010).name;
    symbolizer().begin_window();
    EXPECT_EQ(name(c, 0x1010), "/c function_of/c");
    symbolizer().begin_window();
    EXPECT_LE(symbolizer().table_bytes(), 400U);
    EXPECT_EQ(view, "function_of/c");
    const auto files_read = child_.counters().files;
    EXPECT_EQ(name(c, 0x1010), "/c function_of/c");
    EXPECT_EQ(child_.counters().files, files_read);
    // The other two were used at the same time; one of them went and is read again.
    EXPECT_EQ(name(a, 0x1010), "/a function_of/a");
    EXPECT_EQ(name(b, 0x1010), "/b function_of/b");
    EXPECT_EQ(child_.counters().files, files_read + 1);
}

TEST_F(HostSymbolizerTest, DsosThatNobodySeesAreForgotten) {
    options_.forget_after_windows = 2;
    for (int i = 0; i < 10; ++i) (void)name(dso("/gone" + std::to_string(i)), 0);
    EXPECT_EQ(symbolizer().dso_count(), 10U);
    for (int i = 0; i < 3; ++i) symbolizer().begin_window();
    EXPECT_EQ(symbolizer().dso_count(), 0U);
}

TEST_F(HostSymbolizerTest, NamesTheKernelVdsoAndVsyscall) {
    EXPECT_EQ(name(dso("[kernel.kallsyms]", "", DsoKind::kKernel), 0x1110), "[kernel.kallsyms] schedule");
    EXPECT_EQ(name(dso("[vsyscall]", "", DsoKind::kVsyscall), 0xffffffffff600400), "[vsyscall] vtime");
    EXPECT_EQ(name(dso("[vsyscall]", "", DsoKind::kVsyscall), 0xffffffffff601000), "[vsyscall] ?outside_symbols");
    EXPECT_EQ(name(dso("[uprobes]", "", DsoKind::kUprobes), 0), "[uprobes] ?stripped");

    const auto made = std::make_shared<const collector::Dso>(collector::Dso{.kind = DsoKind::kKernelCode,
                                                                            .path = "[bpf]",
                                                                            .build_id = {},
                                                                            .function = "bpf_prog_1_x",
                                                                            .start = 0x1100,
                                                                            .size = 0x40});
    EXPECT_EQ(name(made, 0x1110), "[bpf] bpf_prog_1_x") << "as its record says, whatever kallsyms has there now";

    const auto vdso = dso("[vdso]", "", DsoKind::kVdso);
    bool clock_gettime = false;
    for (std::uint64_t offset = 0; offset < 0x2000; ++offset) {
        clock_gettime = clock_gettime || name(vdso, offset).ends_with("clock_gettime");
    }
    EXPECT_TRUE(clock_gettime);
}

TEST_F(HostSymbolizerTest, NamesJitCodeFromThePerfMap) {
    folder_.write("proc/42/status", "NSpid:\t42\n");
    folder_.symlink("proc/42/root", folder_ / "root");
    const auto anonymous = dso("//anon", "", DsoKind::kAnonymous);
    EXPECT_EQ(name(anonymous, 0x5000), "//anon ?anonymous");
    folder_.write("root/tmp/perf-42.map", "5000 100 jitted\n");
    clock_.advance(std::chrono::seconds(5));
    EXPECT_EQ(name(anonymous, 0x5000), "[jit] jitted");
    const auto view = symbolizer().resolve(anonymous, 0x5000).name;
    // It grows; names already handed out stay.
    folder_.write("root/tmp/perf-42.map", "5000 100 jitted\n6000 10 later\n5000 100 recompiled\n");
    clock_.advance(std::chrono::seconds(5));
    EXPECT_EQ(name(anonymous, 0x6000), "[jit] later");
    EXPECT_EQ(name(anonymous, 0x5000), "[jit] recompiled");
    EXPECT_EQ(view, "jitted");
    EXPECT_EQ(name(anonymous, 0x7000), "[jit] ?outside_symbols");
    symbolizer().begin_window();
    EXPECT_EQ(name(anonymous, 0x6000), "[jit] later");
}

// --- separate debug files

TEST_F(HostSymbolizerTest, ADebugFileNamesWhatIsStrippedOff) {
    constexpr const char* kId = "aabbccdd";
    put_file("/lib/stripped", kId, "exported", false);
    put_file("/lib/whole", "ddeeff00", "own");
    test::ElfImageSpec debug;
    debug.debug_file = true;
    debug.build_id = build_id_of(kId);
    debug.symtab = {{"exported", 0x401000, 0x100}, {"local", 0x401100, 0x80, STT_FUNC, STB_LOCAL}};
    (void)folder_.write("debug/.build-id/aa/bbccdd.debug", Bytes(test::make_elf(debug)));
    debug.build_id = build_id_of("ddeeff00");
    (void)folder_.write("debug/.build-id/dd/eeff00.debug", Bytes(test::make_elf(debug)));
    options_.sources.debug_dirs = {folder_ / "debug"};
    const auto stripped = dso("/lib/stripped", kId);
    EXPECT_EQ(name(stripped, 0x1010), "/lib/stripped exported");
    EXPECT_EQ(name(stripped, 0x1110), "/lib/stripped local");
    const auto symbol = symbolizer().resolve(stripped, 0x1110);
    EXPECT_EQ(symbol.start, 0x1100U);  // in the Dso's terms, not the debug file's
    EXPECT_EQ(symbol.size, 0x80U);
    EXPECT_EQ(name(stripped, 0x1180), "/lib/stripped ?outside_symbols");
    // What has its own .symtab needs no other.
    EXPECT_EQ(name(dso("/lib/whole", "ddeeff00"), 0x1010), "/lib/whole own");
}

TEST_F(HostSymbolizerTest, ADebugFileNamesAFileWithoutAnySymbol) {
    test::ElfImageSpec bare;
    bare.build_id = build_id_of("aabbccdd");
    bare.with_symtab = bare.with_dynsym = false;
    files_.files["/bin/bare"] = {.bytes = test::make_elf(bare), .build_id = bare.build_id};
    test::ElfImageSpec debug = bare;
    debug.debug_file = debug.with_symtab = true;
    debug.symtab = {{"main", 0x401000, 0x100}};
    (void)folder_.write("debug/.build-id/aa/bbccdd.debug", Bytes(test::make_elf(debug)));
    options_.sources.debug_dirs = {folder_ / "debug"};
    EXPECT_EQ(name(dso("/bin/bare", "aabbccdd"), 0x1010), "/bin/bare main");
}

// A stripped program that names its debug file, and the debug file; neither has a build-id.
struct Linked {
    std::vector<std::byte> program;
    std::vector<std::byte> debug;
};

Linked linked_program() {
    test::ElfImageSpec debug;
    debug.debug_file = true;
    debug.symtab = {{"main", 0x401000, 0x100}};
    Linked made{.program = {}, .debug = test::make_elf(debug)};
    test::ElfImageSpec program;
    program.with_symtab = program.with_dynsym = false;
    std::vector<std::byte> link;
    ByteWriter writer(link);
    writer.text("app.debug");
    writer.zeros(3);
    writer.u32(static_cast<std::uint32_t>(
        ::crc32(0, reinterpret_cast<const unsigned char*>(made.debug.data()), static_cast<uInt>(made.debug.size()))));
    program.more = {{".gnu_debuglink", link}};
    made.program = test::make_elf(program);
    return made;
}

TEST_F(HostSymbolizerTest, ALinkLeadsToTheDebugFileInsideTheRootOfTheFile) {
    const auto made = linked_program();
    for (const char* place : {"opt/bin/app.debug", "opt/bin/.debug/app.debug", "usr/lib/debug/opt/bin/app.debug"}) {
        const test::TempFolder root;
        (void)root.write(place, Bytes(made.debug));
        files_.root = std::make_shared<const UniqueFd>(open_file(root / "", O_PATH | O_DIRECTORY).value());
        files_.files["/opt/bin/app"] = {.bytes = made.program, .build_id = {}};
        symbolizer_.reset();
        EXPECT_EQ(name(dso("/opt/bin/app"), 0x1010), "/opt/bin/app main") << place;
    }
}

TEST_F(HostSymbolizerTest, ALinkedFileWithAnotherChecksumIsPassedOver) {
    const auto made = linked_program();
    auto other = made.debug;
    other.push_back(std::byte{0});
    const test::TempFolder root;
    (void)root.write("opt/bin/app.debug", Bytes(other));
    files_.root = std::make_shared<const UniqueFd>(open_file(root / "", O_PATH | O_DIRECTORY).value());
    files_.files["/opt/bin/app"] = {.bytes = made.program, .build_id = {}};
    EXPECT_EQ(name(dso("/opt/bin/app"), 0x1010), "/opt/bin/app ?stripped");
    // The right one further on is found.
    (void)root.write("usr/lib/debug/opt/bin/app.debug", Bytes(made.debug));
    symbolizer_.reset();
    EXPECT_EQ(name(dso("/opt/bin/app"), 0x1010), "/opt/bin/app main");
}

TEST_F(HostSymbolizerTest, ALinkIsNotFollowedOutOfTheRoot) {
    const auto made = linked_program();
    const test::TempFolder outside;
    const auto secret = outside.write("app.debug", Bytes(made.debug));
    const test::TempFolder root;
    root.symlink("opt/bin/app.debug", secret);
    files_.root = std::make_shared<const UniqueFd>(open_file(root / "", O_PATH | O_DIRECTORY).value());
    files_.files["/opt/bin/app"] = {.bytes = made.program, .build_id = {}};
    EXPECT_EQ(name(dso("/opt/bin/app"), 0x1010), "/opt/bin/app ?stripped");
}

TEST_F(HostSymbolizerTest, ADebugFileThatComesLateNamesFromTheNextWindowOn) {
    const auto made = linked_program();
    const test::TempFolder root;
    (void)root.write("opt/bin/app.debug", Bytes(made.debug));
    files_.root = std::make_shared<const UniqueFd>(open_file(root / "", O_PATH | O_DIRECTORY).value());
    files_.files["/opt/bin/app"] = {.bytes = made.program, .build_id = {}};
    files_.busy = true;
    const auto app = dso("/opt/bin/app");
    EXPECT_EQ(name(app, 0x1010), "/opt/bin/app ?stripped");
    symbolizer().begin_window();
    EXPECT_EQ(name(app, 0x1010), "/opt/bin/app ?stripped");
    files_.busy = false;
    symbolizer().begin_window();
    EXPECT_EQ(name(app, 0x1010), "/opt/bin/app main");
}

TEST_F(HostSymbolizerTest, ADebugFileStandsForAMissingFileWhenItSaysWhereTheCodeLay) {
    test::ElfImageSpec debug;
    debug.debug_file = debug.offsets_kept = true;
    debug.build_id = build_id_of("aabbccdd");
    debug.symtab = {{"gone", 0x401000, 0x100}};
    (void)folder_.write("debug/.build-id/aa/bbccdd.debug", Bytes(test::make_elf(debug)));
    debug.offsets_kept = false;
    debug.build_id = build_id_of("ddeeff00");
    (void)folder_.write("debug/.build-id/dd/eeff00.debug", Bytes(test::make_elf(debug)));
    options_.sources.debug_dirs = {folder_ / "debug"};
    options_.origin = Origin::kCapture;
    EXPECT_EQ(name(dso("/gone/kept", "aabbccdd"), 0x1010), "/gone/kept gone");
    EXPECT_TRUE(symbolizer().refusals().empty());
    EXPECT_EQ(name(dso("/gone/rewritten", "ddeeff00"), 0x1010), "/gone/rewritten ?no_file");
    ASSERT_EQ(symbolizer().refusals().size(), 1U);
    EXPECT_TRUE(symbolizer().refusals().front().starts_with("/gone/rewritten: its separate debug file is here"));
}

TEST_F(HostSymbolizerTest, AServerNamesWhatIsNowhereHere) {
    put_file("/fetched", "aabbccdd", "theirs");
    const auto stored = folder_.write("store/executable", Bytes(files_.files["/fetched"].bytes));
    files_.files.clear();
    const auto program =
        folder_.write("find", "#!/bin/sh\n[ \"$1 $2\" = 'executable aabbccdd' ] && echo " + stored + "\n");
    std::filesystem::permissions(program, std::filesystem::perms::owner_all);
    options_.origin = Origin::kCapture;
    options_.sources.debuginfod = {.urls = {"http://127.0.0.1:1"}, .program = program};
    options_.sources.debuginfod.wait = std::chrono::seconds(20);
    EXPECT_EQ(name(dso("/fetched", "aabbccdd"), 0x1010), "/fetched theirs");
    EXPECT_EQ(name(dso("/unknown", "aabbccee"), 0x1010), "/unknown ?no_file");
    options_.sources.debuginfod = {};
    symbolizer_.reset();
    EXPECT_EQ(name(dso("/fetched", "aabbccdd"), 0x1010), "/fetched ?no_file");
}

// --- sources of the caller's

TEST_F(HostSymbolizerTest, SymfsNamesACaptureOfElsewhere) {
    test::ElfImageSpec spec;
    spec.build_id = build_id_of("aabbccdd");
    spec.symtab = {{"theirs", 0x401000, 0x100}};
    (void)folder_.write("root/bin/app", Bytes(test::make_elf(spec)));
    (void)folder_.write("root/bin/old", Bytes(test::make_elf(spec)));
    options_.origin = Origin::kCapture;
    options_.capture_host.hostname = "elsewhere";
    options_.build_ids = {{.build_id = build_id_of("aabbccdd"), .pid = Pid{-1}, .misc = 0, .path = "/bin/app"}};
    options_.sources.symfs = folder_ / "root";
    EXPECT_EQ(name(dso("/bin/app"), 0x1010), "/bin/app theirs");
    EXPECT_EQ(name(dso("/bin/old", "0102"), 0x1010), "/bin/old ?no_file");
    ASSERT_EQ(symbolizer().refusals().size(), 1U);
    EXPECT_NE(symbolizer().refusals().front().find("/bin/old was not used"), std::string::npos);
    EXPECT_EQ(name(dso("[kernel.kallsyms]", "", DsoKind::kKernel), 0x1110), "[kernel.kallsyms] ?build_id_mismatch");
}

TEST_F(HostSymbolizerTest, AVdsoOfAnotherKernelIsTakenFromPerfsCache) {
    test::ElfImageSpec spec;
    spec.build_id = build_id_of("aabbccdd");
    spec.symtab = {{"__vdso_other", 0x401000, 0x100}};
    (void)folder_.write("cache/.build-id/aa/bbccdd/vdso", Bytes(test::make_elf(spec)));
    options_.origin = Origin::kCapture;
    options_.capture_host.hostname = "elsewhere";
    options_.build_ids = {{.build_id = build_id_of("aabbccdd"), .pid = Pid{-1}, .misc = 0, .path = "[vdso]"}};
    options_.sources.buildid_dir = folder_ / "cache";
    EXPECT_EQ(name(dso("[vdso]", "", DsoKind::kVdso), 0x1010), "[vdso] __vdso_other");
    options_.sources.buildid_dir = "";
    symbolizer_.reset();
    EXPECT_EQ(name(dso("[vdso]", "", DsoKind::kVdso), 0x1010), "[vdso] ?build_id_mismatch");
}

TEST_F(HostSymbolizerTest, LiveNamesUseNoSourceButDebugFiles) {
    test::ElfImageSpec spec;
    spec.build_id = build_id_of("aabbccdd");
    spec.symtab = {{"theirs", 0x401000, 0x100}};
    (void)folder_.write("root/bin/app", Bytes(test::make_elf(spec)));
    options_.sources.symfs = folder_ / "root";
    EXPECT_EQ(name(dso("/bin/app", "aabbccdd"), 0x1010), "/bin/app ?no_file");
}

// --- captures: never this host's names on foreign addresses

TEST_F(HostSymbolizerTest, CaptureFilesNeedTheirBuildId) {
    options_.origin = Origin::kCapture;
    options_.capture_host.hostname = "elsewhere";
    options_.build_ids = {{.build_id = build_id_of("bb"), .pid = Pid{-1}, .misc = 0, .path = "/table"}};
    put_file("/app", "aa", "f");
    put_file("/table", "bb", "g");
    EXPECT_EQ(name(dso("/app", "aa"), 0x1010), "/app f");
    EXPECT_EQ(name(dso("/table"), 0x1010), "/table g");
    EXPECT_EQ(files_.last_wanted.hex(), "bb");
    const auto before = files_.asked.size();
    EXPECT_EQ(name(dso("/app"), 0x1010), "/app ?no_file");
    EXPECT_EQ(files_.asked.size(), before);  // not even looked for
    EXPECT_EQ(name(dso("[kernel.kallsyms]", "", DsoKind::kKernel), 0x1110), "[kernel.kallsyms] ?build_id_mismatch");
    EXPECT_EQ(name(dso("[vdso]", "", DsoKind::kVdso), 0x900), "[vdso] ?build_id_mismatch");
    EXPECT_EQ(name(dso("//anon", "", DsoKind::kAnonymous), 0x900), "//anon ?anonymous");
}

// As stock perf makes them: no clock reference.
TEST_F(HostSymbolizerTest, CaptureOfThisHostThatDoesNotSayWhenMayUseFilesOlderThanItself) {
    capture_of_this_boot();
    options_.capture_host.wall_reference = {};
    options_.capture_host.monotonic_reference = {};
    options_.capture_written = clock_.wall();
    const auto with_inode = [&](const std::string& path, std::chrono::seconds age) {
        put_file(path, "", "f");
        files_.files[path].modified = clock_.wall() - age;
        auto made = std::make_shared<collector::Dso>(*dso(path));
        made->inode = 7;
        return made;
    };
    EXPECT_EQ(name(with_inode("/old", std::chrono::seconds(1)), 0x1010), "/old f");
    EXPECT_EQ(name(with_inode("/new", std::chrono::seconds(-1)), 0x1010), "/new ?build_id_mismatch");
    symbolizer_.reset();
    options_.capture_host.hostname = "elsewhere";
    EXPECT_EQ(name(with_inode("/other_host", std::chrono::seconds(1)), 0x1010), "/other_host ?no_file");
    symbolizer_.reset();
    options_.capture_host.hostname = "here";
    options_.capture_host.kernel_build_id = build_id_of("0022");
    EXPECT_EQ(name(with_inode("/other_kernel", std::chrono::seconds(1)), 0x1010), "/other_kernel ?no_file");
    symbolizer_.reset();
    options_.capture_host.kernel_build_id = build_id_of("0011");
    options_.capture_written.reset();
    EXPECT_EQ(name(with_inode("/from_a_pipe", std::chrono::seconds(1)), 0x1010), "/from_a_pipe ?no_file");
}

TEST_F(HostSymbolizerTest, CaptureOfThisBootMayUseDeviceAndInodeOfOlderFiles) {
    capture_of_this_boot();
    put_file("/app", "", "f");
    auto app = std::make_shared<collector::Dso>(*dso("/app"));
    app->inode = 7;
    files_.files["/app"].modified = clock_.wall() - std::chrono::hours(1);
    EXPECT_EQ(name(app, 0x1010), "/app f");
    auto no_inode = dso("/app");
    EXPECT_EQ(name(no_inode, 0x1010), "/app ?no_file");
    put_file("/new", "", "f");
    auto rewritten = std::make_shared<collector::Dso>(*dso("/new"));
    rewritten->inode = 8;
    files_.files["/new"].modified = clock_.wall() + std::chrono::seconds(1);
    EXPECT_EQ(name(rewritten, 0x1010), "/new ?build_id_mismatch");
    put_file("/jitted-7-1.so", "", "made_by_inject");
    auto jitted = std::make_shared<collector::Dso>(*dso("/jitted-7-1.so"));
    jitted->inode = 9;
    files_.files["/jitted-7-1.so"].modified = clock_.wall() + std::chrono::seconds(1);
    EXPECT_EQ(name(jitted, 0x1010), "/jitted-7-1.so made_by_inject");
    EXPECT_EQ(name(dso("[kernel.kallsyms]", "", DsoKind::kKernel), 0x1110), "[kernel.kallsyms] schedule");
}

}  // namespace
}  // namespace perfvigil::analyzer
