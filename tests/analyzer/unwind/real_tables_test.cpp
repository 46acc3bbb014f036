// SPDX-License-Identifier: GPL-2.0-or-later
// Tables of real files, through the symbol child, against libdw's own reading of the same sections.
#include <dlfcn.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <libelf.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>

#include "analyzer/symbols/symbol_child.hpp"
#include "analyzer/symbols/vdso_image.hpp"
#include "base/fd.hpp"
#include "tests/support/client.hpp"
#include "tests/support/manual_clock.hpp"
#include "tests/support/paths.hpp"
#include "tests/support/report_view.hpp"
#include "tests/support/temp_folder.hpp"

namespace perfvigil::analyzer {
namespace {

SymbolChildOptions real_child() {
    SymbolChildOptions options;
    options.program = test::kPerfvigilSymbols;
    return options;
}

// libdw's answers for one file.
class Oracle {
public:
    explicit Oracle(int fd) : elf_(elf_begin(fd, ELF_C_READ, nullptr)) {
        if (elf_ == nullptr) throw std::runtime_error("elf_begin");
        eh_ = dwarf_getcfi_elf(elf_);
        dwarf_ = dwarf_begin_elf(elf_, DWARF_C_READ, nullptr);
        if (dwarf_ != nullptr) debug_ = dwarf_getcfi(dwarf_);
    }
    ~Oracle() {
        if (eh_ != nullptr) dwarf_cfi_end(eh_);
        if (dwarf_ != nullptr) dwarf_end(dwarf_);
        elf_end(elf_);
    }
    Oracle(const Oracle&) = delete;

    struct Frame {
        Dwarf_Frame* frame = nullptr;
        ~Frame() { std::free(frame); }
    };
    bool find(std::uint64_t address, Frame& into) const {
        for (Dwarf_CFI* cfi : {eh_, debug_}) {
            if (cfi != nullptr && dwarf_cfi_addrframe(cfi, address, &into.frame) == 0) return true;
        }
        return false;
    }

private:
    Elf* elf_;
    Dwarf* dwarf_ = nullptr;
    Dwarf_CFI* eh_ = nullptr;
    Dwarf_CFI* debug_ = nullptr;  // owned by dwarf_
};

constexpr std::uint8_t kBaseRegister0 = 0x70;
constexpr std::uint8_t kBaseRegister = 0x92;

// "r7+16", or the number of operations.
std::string cfa_of(Dwarf_Frame* frame) {
    Dwarf_Op* ops = nullptr;
    std::size_t count = 0;
    if (dwarf_frame_cfa(frame, &ops, &count) != 0 || count == 0) return "none";
    if (count == 1 && ops[0].atom >= kBaseRegister0 && ops[0].atom < kBaseRegister0 + 32) {
        return "r" + std::to_string(ops[0].atom - kBaseRegister0) + "+" +
               std::to_string(static_cast<std::int64_t>(ops[0].number));
    }
    if (count == 1 && ops[0].atom == kBaseRegister) {
        return "r" + std::to_string(ops[0].number) + "+" + std::to_string(static_cast<std::int64_t>(ops[0].number2));
    }
    return "an expression";
}
std::string cfa_of(const UnwindRule& rule) {
    if (rule.has(kUnwindExpression)) return "an expression";
    return "r" + std::to_string(rule.cfa_register) + "+" + std::to_string(rule.cfa_offset);
}

// Where the register is: "cfa-8", "cfa" (its value), "same", "lost", or "other".
std::string place_of(Dwarf_Frame* frame, int number) {
    Dwarf_Op memory[3];
    Dwarf_Op* ops = nullptr;
    std::size_t count = 0;
    if (dwarf_frame_register(frame, number, memory, &ops, &count) != 0) return "none";
    if (count == 0) return ops == memory ? "lost" : "same";
    constexpr std::uint8_t kCallFrameCfa = 0x9c;
    constexpr std::uint8_t kStackValue = 0x9f;
    constexpr std::uint8_t kPlusConst = 0x23;
    if (ops[0].atom != kCallFrameCfa) return "other";
    if (count == 1) return "cfa+0";
    if (count == 2 && ops[1].atom == kPlusConst)
        return "cfa+" + std::to_string(static_cast<std::int64_t>(ops[1].number));
    return ops[count - 1].atom == kStackValue ? "value" : "other";
}
std::string place_of(const UnwindRule& rule, int number) {
    for (const auto& reg : rule.registers) {
        if (reg.number != number) continue;
        switch (reg.kind) {
            case RegisterRuleKind::kUndefined: return "lost";
            case RegisterRuleKind::kOffset: return "cfa+" + std::to_string(reg.value);
            case RegisterRuleKind::kValueOffset: return "value";
            default: return "other";
        }
    }
    return "same";
}

// Every row's first byte and as many addresses at random; how many were compared.
std::size_t compare(int fd, const FileUnwind& table, std::uint64_t from, std::uint64_t to, const std::string& what) {
    const Oracle oracle(fd);
    std::mt19937_64 random(5);
    std::size_t compared = 0;
    std::size_t wrong = 0;
    for (int i = 0; i < 20000 && wrong < 5; ++i) {
        const std::uint64_t address = from + random() % (to - from);
        Oracle::Frame frame;
        const bool theirs = oracle.find(address, frame);
        const UnwindRule* ours = table.find(LinkAddress{address});
        if (theirs != (ours != nullptr)) {
            ADD_FAILURE() << what << std::hex << " 0x" << address << (theirs ? " is missing" : " is invented");
            ++wrong;
            continue;
        }
        if (!theirs || ours->has(kUnwindEnd)) continue;
        ++compared;
        std::string differences;
        if (cfa_of(frame.frame) != cfa_of(*ours)) differences += cfa_of(frame.frame) + " is not " + cfa_of(*ours);
        for (int number = 0; number <= 16; ++number) {
            const auto place = place_of(frame.frame, number);
            if (place == "other" || number == 7) continue;  // rsp: the CFA by definition
            // What the ABI says of registers that no instruction speaks of, libdw adds on its own.
            const auto our = place_of(*ours, number);
            if (place == "lost" && our == "same") continue;
            if (place != our) differences += " r" + std::to_string(number) + " " + place + ", not " + our;
        }
        if (differences.empty()) continue;
        ADD_FAILURE() << what << std::hex << " 0x" << address << ": " << differences;
        ++wrong;
    }
    return compared;
}

std::string path_of_libc() {
    Dl_info info{};
    return ::dladdr(reinterpret_cast<void*>(&::getpid), &info) != 0 ? info.dli_fname : "";
}

class RealTables : public testing::Test {
protected:
    void SetUp() override {
#ifndef __x86_64__
        GTEST_SKIP() << "the comparison knows the registers of x86-64";
#endif
        ASSERT_NE(elf_version(EV_CURRENT), static_cast<unsigned>(EV_NONE));
    }
    Result<FileUnwind> read(const std::string& path) {
        file = UniqueFd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
        return child.read_unwind(file.get());
    }
    test::ManualClock clock;
    SymbolChild child{real_child(), clock};
    UniqueFd file;
};

// The range of .text, roughly: code of both files lies within these.
std::pair<std::uint64_t, std::uint64_t> text_of(int fd) {
    const std::unique_ptr<Elf, int (*)(Elf*)> elf(elf_begin(fd, ELF_C_READ, nullptr), elf_end);
    for (Elf_Scn* scn = elf_nextscn(elf.get(), nullptr); scn != nullptr; scn = elf_nextscn(elf.get(), scn)) {
        const Elf64_Shdr* header = elf64_getshdr(scn);
        std::size_t names = 0;
        if (header == nullptr || elf_getshdrstrndx(elf.get(), &names) != 0) continue;
        const char* name = elf_strptr(elf.get(), names, header->sh_name);
        if (name != nullptr && std::string_view(name) == ".text") {
            return {header->sh_addr, header->sh_addr + header->sh_size};
        }
    }
    return {0, 1};
}

TEST_F(RealTables, OfLibcOurselvesAndAClientAreAsLibdwReadsThem) {
    for (const auto& path : {path_of_libc(), std::string("/proc/self/exe"), test::client_path("unwind_nofp")}) {
        const auto table = read(path);
        ASSERT_TRUE(table) << path << ": " << table.error().message;
        EXPECT_EQ(table->machine(), UnwindMachine::kX86_64);
        EXPECT_EQ(table->flags(), 0U) << path;
        const auto [from, to] = text_of(file.get());
        EXPECT_GT(compare(file.get(), *table, from, to, path), to - from > 100'000 ? 10'000U : 1000U) << path;
    }
}

TEST_F(RealTables, OfTheVdso) {
    const auto image = copy_own_vdso();
    if (!image) GTEST_SKIP() << image.error().message;
    const auto table = child.read_unwind((*image)->fd.get());
    ASSERT_TRUE(table) << table.error().message;
    EXPECT_GT(table->row_count(), 5U);
    const auto [from, to] = text_of((*image)->fd.get());
    EXPECT_GT(compare((*image)->fd.get(), *table, from, to, "[vdso]"), 100U);
}

// Debug information alone, compressed as distributions ship it, and a file that keeps no section headers.
TEST_F(RealTables, OfDebugFramesAndOfFilesWithoutSections) {
    for (const char* tool : {"/usr/bin/objcopy", "/usr/bin/gcc"}) {
        if (::access(tool, X_OK) != 0) GTEST_SKIP() << "needs " << tool;
    }
    const test::TempFolder folder;
    const std::string source = folder.write("code.c", R"(
        int callee(int);
        int caller(int x) { volatile int room[20]; room[3] = callee(x); return room[3] + callee(room[3]); }
        int callee(int x) { return x * 3; }
        int main(int argc, char** argv) { (void)argv; return caller(argc); })");
    const std::string program = folder / "program";
    // gcc writes .debug_frame where it is told to leave .eh_frame out.
    (void)test::output_of("/usr/bin/gcc", {"-O1", "-g", "-fno-asynchronous-unwind-tables", "-fno-unwind-tables",
                                           "-Wl,--build-id", "-o", program, source});
    const std::string debug = folder / "program.debug";
    (void)test::output_of("/usr/bin/objcopy", {"--only-keep-debug", "--compress-debug-sections=zlib", program, debug});
    const auto own = read(program);
    ASSERT_TRUE(own) << own.error().message;
    const auto [from, to] = text_of(file.get());
    const auto apart = read(debug);
    ASSERT_TRUE(apart) << apart.error().message;
    std::size_t described = 0;
    for (std::uint64_t address = from; address < to; ++address) {
        const UnwindRule* whole = own->find(LinkAddress{address});
        const UnwindRule* alone = apart->find(LinkAddress{address});
        if (alone == nullptr) continue;  // the start-up files' code has .eh_frame, which is not in the debug file
        ++described;
        ASSERT_NE(whole, nullptr);
        EXPECT_EQ(cfa_of(*whole), cfa_of(*alone)) << std::hex << address;
    }
    EXPECT_GT(described, 30U);

    const auto with_sections = read(test::client_path("unwind_nofp"));
    ASSERT_TRUE(with_sections);
    const auto whole = read_file(test::client_path("unwind_nofp"), 64U << 20);
    ASSERT_TRUE(whole);
    std::string bare = *whole;
    // e_shoff, e_shnum and e_shstrndx of an Elf64_Ehdr.
    for (const auto& [at, size] : {std::pair(0x28, 8), std::pair(0x3c, 2), std::pair(0x3e, 2)})
        bare.replace(static_cast<std::size_t>(at), static_cast<std::size_t>(size),
                     std::string(static_cast<std::size_t>(size), '\0'));
    const auto without = read(folder.write("bare", bare));
    ASSERT_TRUE(without) << without.error().message;
    EXPECT_EQ(without->row_count(), with_sections->row_count());
    EXPECT_EQ(without->rule_count(), with_sections->rule_count());
}

TEST_F(RealTables, FilesOfOthersHaveNoneAndDamagedOnesHarmNobody) {
    const auto text = read("/proc/self/status");
    ASSERT_TRUE(text);
    EXPECT_EQ(text->machine(), UnwindMachine::kOther);
    EXPECT_EQ(text->row_count(), 0U);
    const auto whole = read_file(test::client_path("unwind_nofp"), 64U << 20);
    ASSERT_TRUE(whole);
    const test::TempFolder folder;
    std::mt19937_64 random(9);
    for (int round = 0; round < 40; ++round) {
        std::string damaged = *whole;
        for (int n = 0; n < 30; ++n) damaged[random() % damaged.size()] = static_cast<char>(random());
        if (round % 4 == 0) damaged.resize(random() % damaged.size());
        (void)read(folder.write("damaged", damaged));
    }
    EXPECT_TRUE(read(test::client_path("unwind_nofp"))) << "the child still serves";
}

}  // namespace
}  // namespace perfvigil::analyzer
