// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/symbols/symbol_child.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include <csignal>
#include <filesystem>
#include <string>
#include <thread>

#include "base/text.hpp"
#include "tests/support/elf_image.hpp"
#include "tests/support/manual_clock.hpp"
#include "tests/support/memory_file.hpp"
#include "tests/support/paths.hpp"
#include "tests/support/temp_folder.hpp"

namespace perfvigil::analyzer {
namespace {

using test::ElfImageSpec;
using test::make_elf;
using test::memory_file;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

SymbolChildOptions real_child() {
    SymbolChildOptions options;
    options.program = test::kPerfvigilSymbols;
    return options;
}

UniqueFd small_elf() {
    ElfImageSpec spec;
    spec.symtab = {{"_ZN3foo3barEi", 0x401010, 0x20}};
    return memory_file(make_elf(spec));
}

std::string status_field(pid_t pid, std::string_view field) {
    const auto status = read_file("/proc/" + std::to_string(pid) + "/status");
    std::string_view text = status ? std::string_view(*status) : std::string_view{};
    while (!text.empty()) {
        auto line = next_piece(text, '\n');
        if (next_piece(line, ':') == field) return std::string(trim(line));
    }
    return {};
}

// A stand-in for the child: a shell script that says it is ready first.
constexpr const char* kReady = "printf 'FPVR\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000' >&3\n";

class Impostor {
public:
    explicit Impostor(const std::string& what_then, const char* what_first = kReady) {
        const auto script = what_first + what_then;
        path_ = folder_.write("impostor", "#!/bin/sh\n" + script + "\n");
        std::filesystem::permissions(path_, std::filesystem::perms::owner_all);
    }
    [[nodiscard]] SymbolChildOptions options() const {
        SymbolChildOptions made;
        made.program = path_;
        return made;
    }

private:
    test::TempFolder folder_;
    std::string path_;
};

class SymbolChildTest : public testing::Test {
protected:
    test::ManualClock clock_;
};

TEST_F(SymbolChildTest, ReadsOneFileAfterTheOther) {
    SymbolChild child(real_child(), clock_);
    for (int i = 0; i < 20; ++i) {
        const auto symbols = child.read(small_elf().get());
        ASSERT_TRUE(symbols) << symbols.error().message;
        ASSERT_EQ(symbols->size(), 1U);
        EXPECT_EQ(symbols->at(0).name, "foo::bar");
    }
    EXPECT_EQ(child.counters().started, 1U);
    EXPECT_EQ(child.counters().files, 20U);

    const auto text = child.read(memory_file(std::as_bytes(std::span("#!/bin/sh"))).get());
    ASSERT_TRUE(text);
    EXPECT_EQ(text->state(), FileState::kNotElf);
}

TEST_F(SymbolChildTest, DemanglesWhenAsked) {
    SymbolChild child(real_child(), clock_);
    const auto symbols = child.read(small_elf().get(), NameForm::kLinker);
    ASSERT_TRUE(symbols) << symbols.error().message;
    EXPECT_EQ(symbols->at(0).name, "_ZN3foo3barEi");
    const std::vector<std::string_view> names{symbols->at(0).name, "_ZdlPv@plt", "", "_Z3foov\0tail"};
    const auto shown = child.demangled(names);
    ASSERT_TRUE(shown) << shown.error().message;
    EXPECT_EQ(*shown, (std::vector<std::string>{"foo::bar", "operator delete@plt", "", "foo"}));
    EXPECT_EQ(child.demangled({})->size(), 0U);
    EXPECT_EQ(child.counters().started, 1U);
}

TEST_F(SymbolChildTest, TakesALinkedDebugFileByItsChecksumAlone) {
    ElfImageSpec spec;
    spec.debug_file = true;
    spec.symtab = {{"main", 0x401010, 0x20}};
    const auto bytes = make_elf(spec);
    const auto crc = ::crc32(0, reinterpret_cast<const unsigned char*>(bytes.data()), static_cast<uInt>(bytes.size()));
    const auto file = memory_file(bytes);
    SymbolChild child(real_child(), clock_);
    const auto right = child.read_linked_debug_file(file.get(), static_cast<std::uint32_t>(crc));
    ASSERT_TRUE(right) << right.error().message;
    EXPECT_EQ(right->at(0).name, "main");
    const auto wrong = child.read_linked_debug_file(file.get(), static_cast<std::uint32_t>(crc) + 1);
    ASSERT_FALSE(wrong);
    EXPECT_EQ(wrong.error().code, ErrorCode::kNotFound);
    EXPECT_EQ(child.counters().died, 0U);
}

TEST_F(SymbolChildTest, TellsOfStubsAndOfTheLink) {
    ElfImageSpec spec;
    spec.symtab = {{"main", 0x401010, 0x20}};
    std::vector<std::byte> link;
    ByteWriter writer(link);
    writer.text("app.debug");
    writer.zeros(3);
    writer.u32(0x11223344);
    spec.more = {{".gnu_debuglink", link}};
    SymbolChild child(real_child(), clock_);
    const auto symbols = child.read(memory_file(make_elf(spec)).get());
    ASSERT_TRUE(symbols) << symbols.error().message;
    EXPECT_EQ(symbols->debug_link(), "app.debug");
    EXPECT_EQ(symbols->debug_link_crc(), 0x11223344U);
    const auto itself = open_file(test::kPerfvigilSymbols, O_RDONLY);
    ASSERT_TRUE(itself);
    const auto own = child.read(itself->get());
    ASSERT_TRUE(own) << own.error().message;
    std::size_t stubs = 0;
    for (std::size_t i = 0; i < own->size(); ++i) stubs += own->at(i).name.ends_with("@plt") ? 1 : 0;
    EXPECT_GT(stubs, 10U);
}

TEST_F(SymbolChildTest, ReadsItself) {
    SymbolChild child(real_child(), clock_);
    const auto self = open_file(test::kPerfvigilSymbols, O_RDONLY);
    ASSERT_TRUE(self);
    const auto symbols = child.read(self->get());
    ASSERT_TRUE(symbols) << symbols.error().message;
    bool demangled = false;
    for (std::size_t i = 0; i < symbols->size(); ++i) {
        demangled = demangled || symbols->at(i).name == "perfvigil::analyzer::read_elf_symbols";
    }
    EXPECT_TRUE(demangled);
}

TEST_F(SymbolChildTest, HasGivenUpEverything) {
    SymbolChild child(real_child(), clock_);
    ASSERT_TRUE(child.read(small_elf().get()));
    const auto pid = child.pid();
    ASSERT_GT(pid, 0);
    for (const char* set : {"CapEff", "CapPrm", "CapInh", "CapAmb"}) {
        EXPECT_EQ(status_field(pid, set), "0000000000000000") << set;
    }
    EXPECT_EQ(status_field(pid, "NoNewPrivs"), "1");
    EXPECT_EQ(status_field(pid, "Seccomp"), kSanitized ? "0" : "2");
    EXPECT_EQ(*read_file("/proc/" + std::to_string(pid) + "/oom_score_adj"), "900\n");
    // ^C and systemd's SIGTERM are for the parent.
    const auto ignored = parse_number<std::uint64_t>(status_field(pid, "SigIgn"), 16).value_or(0);
    for (const int number : {SIGINT, SIGTERM, SIGHUP}) EXPECT_NE(ignored & (1ULL << (number - 1)), 0U) << number;
    EXPECT_NE(::getpgid(pid), ::getpgrp());
    const auto limits = read_file("/proc/" + std::to_string(pid) + "/limits");
    ASSERT_TRUE(limits);
    if (!kSanitized) {
        EXPECT_NE(limits->find("Max open files            7 "), std::string::npos) << *limits;
        EXPECT_NE(limits->find("Max address space         2147483648"), std::string::npos) << *limits;
    }
    // Null, null, our standard error, the socket: nothing else of ours leaked in.
    std::size_t open = 0;
    for (const auto& fd : std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/fd")) {
        open += fd.is_directory() ? 0 : 1;
    }
    EXPECT_EQ(open, 4U);
}

TEST_F(SymbolChildTest, EndsWithItsParent) {
    pid_t pid = 0;
    {
        SymbolChild child(real_child(), clock_);
        ASSERT_TRUE(child.read(small_elf().get()));
        pid = child.pid();
    }
    EXPECT_EQ(::kill(pid, 0), -1);
}

TEST_F(SymbolChildTest, IsReplacedWhenKilledBetweenFiles) {
    SymbolChild child(real_child(), clock_);
    ASSERT_TRUE(child.read(small_elf().get()));
    const auto first = child.pid();
    ASSERT_EQ(::kill(first, SIGKILL), 0);
    siginfo_t info{};
    ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(first), &info, WEXITED | WNOWAIT), 0);
    ASSERT_TRUE(child.read(small_elf().get()));
    EXPECT_NE(child.pid(), first);
    EXPECT_EQ(child.counters().died, 0U);
}

TEST_F(SymbolChildTest, DyingOfAFileCostsThatFile) {
    // It must not end before it got the file: a shell reads no packets, so let another program take one.
    const Impostor impostor("exec head -c 1 <&3 >/dev/null");
    SymbolChild child(impostor.options(), clock_);
    const auto symbols = child.read(small_elf().get());
    ASSERT_FALSE(symbols);
    EXPECT_EQ(symbols.error().code, ErrorCode::kInvalid);
    EXPECT_EQ(child.counters().died, 1U);
}

TEST_F(SymbolChildTest, IsKilledInTheMiddleOfARequest) {
    auto options = real_child();
    SymbolChild child(options, clock_);
    ASSERT_TRUE(child.read(small_elf().get()));
    const auto first = child.pid();
    // Stopped, it has the request and does not answer; then it dies.
    ASSERT_EQ(::kill(first, SIGSTOP), 0);
    std::jthread killer([first] {
        while (status_field(first, "State").substr(0, 1) != "T") std::this_thread::yield();
        (void)::kill(first, SIGKILL);
    });
    const auto symbols = child.read(small_elf().get());
    // Either it had not been given the file yet (and another one read it), or it died with it.
    EXPECT_TRUE(symbols || symbols.error().code == ErrorCode::kInvalid);
    killer.join();
    ASSERT_TRUE(child.read(small_elf().get()));
    EXPECT_NE(child.pid(), first);
}

TEST_F(SymbolChildTest, OverItsTimeIsKilled) {
    const Impostor impostor("exec sleep 1000");
    auto options = impostor.options();
    options.time_limit = std::chrono::milliseconds(50);
    SymbolChild child(options, clock_);
    const auto symbols = child.read(small_elf().get());
    ASSERT_FALSE(symbols);
    EXPECT_EQ(symbols.error().code, ErrorCode::kInvalid);
    EXPECT_EQ(child.counters().timed_out, 1U);
    EXPECT_EQ(child.pid(), 0);
}

TEST_F(SymbolChildTest, IsNotWaitedForOnceCancelled) {
    const Impostor impostor("exec sleep 1000");
    auto options = impostor.options();
    options.time_limit = std::chrono::minutes(1);
    const UniqueFd cancel(::eventfd(0, EFD_CLOEXEC));
    options.cancel_fd = cancel.get();
    SymbolChild child(options, clock_);
    const std::jthread canceller([&] { EXPECT_EQ(::eventfd_write(cancel.get(), 1), 0); });
    for (int i = 0; i < 2; ++i) {
        const auto symbols = child.read(small_elf().get());
        ASSERT_FALSE(symbols);
        EXPECT_EQ(symbols.error().code, ErrorCode::kCancelled);
    }
    EXPECT_EQ(child.counters().timed_out, 0U);
}

TEST_F(SymbolChildTest, AnsweringNonsenseIsReplaced) {
    const Impostor impostor("echo nonsense >&3; exec cat <&3");
    SymbolChild child(impostor.options(), clock_);
    const auto symbols = child.read(small_elf().get());
    ASSERT_FALSE(symbols);
    EXPECT_EQ(symbols.error().code, ErrorCode::kInvalid);
}

TEST_F(SymbolChildTest, PausesLongerEachTimeItDiesInARow) {
    const Impostor impostor("exec head -c 1 <&3 >/dev/null");
    SymbolChild child(impostor.options(), clock_);
    const auto code = [&] { return child.read(small_elf().get()).error().code; };
    EXPECT_EQ(code(), ErrorCode::kInvalid);
    EXPECT_EQ(code(), ErrorCode::kInvalid);  // a second chance at once
    EXPECT_EQ(code(), ErrorCode::kBusy);
    clock_.advance(std::chrono::seconds(1));
    EXPECT_EQ(code(), ErrorCode::kInvalid);
    clock_.advance(std::chrono::seconds(1));
    EXPECT_EQ(code(), ErrorCode::kBusy);
    clock_.advance(std::chrono::seconds(1));
    EXPECT_EQ(code(), ErrorCode::kInvalid);
    EXPECT_EQ(child.counters().started, 4U);
}

TEST_F(SymbolChildTest, ThatEndsBeforeItIsReadyIsNoFaultOfTheFile) {
    for (const char* start : {"", "echo hello >&3\n"}) {
        const Impostor impostor("exit 1", start);
        SymbolChild child(impostor.options(), clock_);
        const auto code = [&] { return child.read(small_elf().get()).error().code; };
        EXPECT_EQ(code(), ErrorCode::kIo);
        EXPECT_EQ(code(), ErrorCode::kIo);
        EXPECT_EQ(code(), ErrorCode::kBusy);
        EXPECT_EQ(child.pid(), 0);
    }
}

TEST_F(SymbolChildTest, ThatIsNotInstalledIsNoFaultOfTheFile) {
    SymbolChildOptions options;
    options.program = "/nonexistent/perfvigil-symbols";
    SymbolChild child(options, clock_);
    const auto symbols = child.read(small_elf().get());
    ASSERT_FALSE(symbols);
    EXPECT_EQ(symbols.error().code, ErrorCode::kNotFound);
    EXPECT_NE(symbols.error().message.find("/nonexistent/perfvigil-symbols"), std::string::npos);
}

TEST_F(SymbolChildTest, OverItsTableLimitSaysSo) {
    ElfImageSpec spec;
    for (int i = 0; i < 1000; ++i) spec.symtab.push_back({"function_" + std::to_string(i), 0x401000U + i, 1});
    auto options = real_child();
    options.table_bytes = 4096;
    SymbolChild child(options, clock_);
    const auto symbols = child.read(memory_file(make_elf(spec)).get());
    ASSERT_FALSE(symbols);
    EXPECT_EQ(symbols.error().code, ErrorCode::kInvalid);
    EXPECT_NE(symbols.error().message.find("limit"), std::string::npos);
    EXPECT_EQ(child.counters().died, 0U);
}

TEST_F(SymbolChildTest, OverItsMemoryCostsTheFileOnly) {
    if (kSanitized) GTEST_SKIP() << "sanitizers need the address space that the limit takes";
    // A sparse file whose string table claims 3 GiB that are really there, as zeros.
    ElfImageSpec spec;
    spec.symtab = {{"f", 0x401000, 8}};
    auto image = make_elf(spec);
    ByteReader header{Bytes(image).subspan(40)};
    const auto sections_at = header.u64();
    // .strtab is section 4; sh_size lies at 32 in its header.
    const std::uint64_t huge = 3ULL << 30;
    std::memcpy(image.data() + sections_at + 4 * 64 + 32, &huge, sizeof(huge));
    const auto file = memory_file(image);
    ASSERT_EQ(::ftruncate(file.get(), static_cast<off_t>(huge + image.size())), 0);
    auto options = real_child();
    options.table_bytes = 4ULL << 30;  // lets the section through, so that memory is what gives out
    SymbolChild child(options, clock_);
    const auto symbols = child.read(file.get());
    // Whatever way it went, no names were made up, and the next file is read.
    EXPECT_TRUE(!symbols || symbols->state() != FileState::kFunctions);
    const auto next = child.read(small_elf().get());
    ASSERT_TRUE(next) << next.error().message;
    EXPECT_EQ(next->size(), 1U);
}

TEST_F(SymbolChildTest, HasCpuTimeForOneFileAtATime) {
    auto options = real_child();
    options.cpu_seconds = 7;
    SymbolChild child(options, clock_);
    ASSERT_TRUE(child.read(small_elf().get()));
    rlimit limit{};
    ASSERT_EQ(::prlimit(child.pid(), RLIMIT_CPU, nullptr, &limit), 0);
    EXPECT_EQ(limit.rlim_cur, 8U);  // it has used none so far
}

TEST(DefaultSymbolProgram, IsNamedByTheEnvironment) {
    ::setenv("PERFVIGIL_SYMBOLS", "/some/where", 1);
    EXPECT_EQ(default_symbol_program(), "/some/where");
    ::unsetenv("PERFVIGIL_SYMBOLS");
    EXPECT_TRUE(default_symbol_program().ends_with("perfvigil-symbols"));
}

}  // namespace
}  // namespace perfvigil::analyzer
