// SPDX-License-Identifier: GPL-2.0-or-later
// Inlined calls against addr2line -i, on programs with debug information; and answers that break their format.
#include "analyzer/symbols/inlined_frames.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <map>

#include "analyzer/symbols/inlined_format.hpp"
#include "analyzer/symbols/symbol_child.hpp"
#include "base/fd.hpp"
#include "base/text.hpp"
#include "tests/support/client.hpp"
#include "tests/support/elf_image.hpp"
#include "tests/support/manual_clock.hpp"
#include "tests/support/memory_file.hpp"
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

// What addr2line demangles has parameters, and template arguments where it returns something: "unsigned long f<1>(x)".
std::string bare(std::string_view name) {
    const auto parenthesis = name.find('(');
    auto text = std::string(name.substr(0, name.starts_with('(') ? name.size() : parenthesis));
    if (const auto space = text.rfind(' '); space != std::string::npos) text.erase(0, space + 1);
    return text;
}

// Per address its frames as "function file:line", as addr2line prints them.
std::vector<std::vector<std::string>> from_addr2line(const std::string& path, const std::vector<LinkAddress>& addresses,
                                                     const std::string& section = {}) {
    std::vector<std::string> arguments{"-a", "-i", "-f", "-C", "-e", path};
    if (!section.empty()) arguments.insert(arguments.end(), {"-j", section});
    for (const auto address : addresses) arguments.push_back(fmt::format("{:#x}", address.value));
    std::vector<std::vector<std::string>> all;
    const auto text = test::output_of("/usr/bin/addr2line", arguments);
    std::string function;
    for (const auto line : split(text, '\n')) {
        if (line.empty()) continue;
        if (line.starts_with("0x")) {
            all.emplace_back();
            function.clear();
        } else if (function.empty()) {
            function = bare(line);
        } else {
            const auto where = line.substr(0, line.find(" (discriminator"));
            all.back().push_back(fmt::format("{} {}", function, base_name(where)));
            function.clear();
        }
    }
    return all;
}

std::vector<std::string> as_addr2line_prints(const std::vector<InlinedFrame>& frames) {
    std::vector<std::string> lines;
    for (const auto& frame : frames) {
        const auto line = frame.line == 0 ? "?" : std::to_string(frame.line);
        lines.push_back(fmt::format("{} {}:{}", bare(frame.function), base_name(frame.file), line));
    }
    return lines;
}

std::vector<LinkAddress> code_of(const FileSymbols& symbols, std::string_view name) {
    std::vector<LinkAddress> addresses;
    for (std::size_t i = 0; i < symbols.size(); ++i) {
        const auto function = symbols.at(i);
        if (function.name != name) continue;
        for (std::uint64_t at = 0; at < function.size; ++at) {
            addresses.push_back(*symbols.link_address(FileOffset{function.start.value + at}));
        }
    }
    return addresses;
}

// addr2line names some inlined calls like the function around them: those take our name at the same line.
std::vector<std::string> named_as(const std::vector<std::string>& ours, std::vector<std::string> theirs) {
    if (theirs.empty() || ours.size() != theirs.size()) return theirs;
    const auto around = theirs.back().substr(0, theirs.back().rfind(' '));
    for (std::size_t i = 0; i + 1 < theirs.size(); ++i) {
        const auto place = theirs[i].substr(theirs[i].rfind(' '));
        if (theirs[i] == around + place && ours[i].ends_with(place)) theirs[i] = ours[i];
    }
    return theirs;
}

TEST(InlinedFrames, AgreeWithAddr2line) {
    const test::ManualClock clock;
    SymbolChild child(real_child(), clock);
    const auto path = test::client_path("inlining");
    const auto file = open_file(path, O_RDONLY).value();
    const auto symbols = child.read(file.get());
    ASSERT_TRUE(symbols) << symbols.error().message;
    std::size_t deepest = 0;
    std::size_t compared = 0;
    for (const auto* function : {"mill::work", "descend", "main"}) {
        const auto addresses = code_of(*symbols, function);
        ASSERT_GT(addresses.size(), 20U) << function;
        const auto frames = child.inlined(file.get(), addresses);
        ASSERT_TRUE(frames) << frames.error().message;
        EXPECT_TRUE(frames->has_debug_info());
        EXPECT_FALSE(frames->is_split());
        const auto expected = from_addr2line(path, addresses);
        ASSERT_EQ(expected.size(), addresses.size());
        for (std::size_t i = 0; i < addresses.size(); ++i) {
            const auto got = as_addr2line_prints(frames->find(addresses[i]));
            EXPECT_EQ(got, named_as(got, expected[i])) << function << fmt::format(" {:#x}", addresses[i].value);
            deepest = std::max(deepest, got.size());
            ++compared;
        }
    }
    EXPECT_EQ(deepest, 4U) << "grind in turn in the lambda in work";
    EXPECT_GT(compared, 200U);
}

// A relocatable file, its sections put where the kernel might put them.
class InlinedFramesOfAModule : public testing::Test {
protected:
    static constexpr const char* kCompiler = "/usr/bin/g++";
    static constexpr const char* kObjcopy = "/usr/bin/objcopy";

    void SetUp() override {
        for (const char* tool : {kCompiler, kObjcopy}) {
            if (::access(tool, X_OK) != 0) GTEST_SKIP() << tool << " is not installed";
        }
        (void)test::output_of(kCompiler, {"-O1", "-g", "-c", "-ffunction-sections", "-o", object_,
                                          std::string(test::kSourceDir) + "/tests/clients/inlining.cpp"});
    }
    // Each byte of the code of both functions, from a file made of the object, as addr2line has it from the object.
    void expect_agreement(const std::string& path) {
        const auto file = open_file(path, O_RDONLY).value();
        for (const auto& section : sections_) {
            const auto size = sizes_.at(section.name);
            std::vector<RuntimeAddress> asked;
            std::vector<LinkAddress> offsets;
            for (std::uint64_t at = 0; at < size; ++at) {
                asked.push_back(RuntimeAddress{section.address + at});
                offsets.push_back(LinkAddress{at});
            }
            const auto frames = child_.inlined_in_module(file.get(), sections_, asked);
            ASSERT_TRUE(frames) << frames.error().message;
            ASSERT_TRUE(frames->has_debug_info()) << path;
            const auto expected = from_addr2line(object_, offsets, section.name);
            ASSERT_EQ(expected.size(), size);
            for (std::uint64_t at = 0; at < size; ++at) {
                const auto got = as_addr2line_prints(frames->find(LinkAddress{section.address + at}));
                EXPECT_EQ(got, named_as(got, expected[at])) << section.name << fmt::format("+{:#x}", at);
            }
        }
    }

    const test::ManualClock clock_;
    SymbolChild child_{real_child(), clock_};
    test::TempFolder folder_;
    std::string object_ = folder_ / "mill.o";
    std::vector<PlacedSection> sections_{{.name = ".text._ZN4mill4workEm", .address = 0xffffffffc0a31000},
                                         {.name = ".text._Z7descendmi", .address = 0xffffffffc0205040}};
    std::map<std::string, std::uint64_t> sizes_;
};

TEST_F(InlinedFramesOfAModule, AgreeWithAddr2line) {
    const auto symbols = child_.read_module(open_file(object_, O_RDONLY)->get(), sections_);
    ASSERT_TRUE(symbols) << symbols.error().message;
    for (std::size_t i = 0; i < symbols->size(); ++i) {
        for (const auto& section : sections_) {
            if (symbols->at(i).start.value == section.address) sizes_[section.name] = symbols->at(i).size;
        }
    }
    ASSERT_EQ(sizes_.size(), 2U);
    ASSERT_GT(sizes_[sections_[0].name], 50U);
    expect_agreement(object_);
    const auto debug = folder_ / "mill.debug";
    (void)test::output_of(kObjcopy, {"--only-keep-debug", object_, debug});
    expect_agreement(debug);
    const auto packed = folder_ / "packed.o";
    (void)test::output_of(kObjcopy, {"--compress-debug-sections=zlib", object_, packed});
    expect_agreement(packed);
    EXPECT_EQ(child_.counters().started, 1U);
}

TEST_F(InlinedFramesOfAModule, NothingIsKnownOutsideTheGivenSections) {
    const auto file = open_file(object_, O_RDONLY).value();
    const std::vector<PlacedSection> one{sections_[0]};
    const auto frames = child_.inlined_in_module(file.get(), one, {RuntimeAddress{sections_[1].address}});
    ASSERT_TRUE(frames) << frames.error().message;
    EXPECT_TRUE(frames->find(LinkAddress{sections_[1].address}).empty());
    // A program is no module, and what is not even a file of code is none either.
    const auto program = open_file(test::client_path("inlining"), O_RDONLY).value();
    const auto text = test::memory_file(std::as_bytes(std::span("text")));
    for (const int fd : {program.get(), text.get()}) {
        const auto none = child_.inlined_in_module(fd, sections_, {RuntimeAddress{sections_[0].address}});
        ASSERT_TRUE(none) << none.error().message;
        EXPECT_FALSE(none->has_debug_info());
    }
    EXPECT_EQ(child_.counters().started, 1U);
}

TEST(InlinedFrames, AFileWithoutDebugInformationSaysSo) {
    const test::ManualClock clock;
    SymbolChild child(real_child(), clock);
    test::ElfImageSpec spec;
    spec.symtab = {{.name = "f", .value = 0x401000, .size = 16}};
    const auto image = test::make_elf(spec);
    const auto frames = child.inlined(test::memory_file(image).get(), {LinkAddress{0x401004}});
    ASSERT_TRUE(frames) << frames.error().message;
    EXPECT_FALSE(frames->has_debug_info());
    EXPECT_TRUE(frames->find(LinkAddress{0x401004}).empty());
    // Something that is no ELF file beside it changes nothing, and the same child answers the next question.
    const auto text = test::memory_file(std::as_bytes(std::span("text")));
    EXPECT_TRUE(child.inlined(text.get(), {LinkAddress{1}}, text.get()));
    EXPECT_TRUE(child.read(test::memory_file(image).get()));
    EXPECT_EQ(child.counters().started, 1U);
}

// What dwz leaves: a link to the file that several files share, by its build-id.
TEST(InlinedFrames, ASharedDebugFileIsNamedUntilItIsGiven) {
    const test::ManualClock clock;
    SymbolChild child(real_child(), clock);
    const test::TempFolder folder;
    const std::string id("0123456789abcdefghij");
    const auto link = folder.write("link", std::string("shared.debug") + '\0' + id);
    const auto linked = folder / "linked";
    (void)test::output_of("/usr/bin/objcopy",
                          {"--add-section", ".gnu_debugaltlink=" + link, test::client_path("inlining"), linked});
    const auto file = open_file(linked, O_RDONLY).value();
    const auto addresses = code_of(*child.read(file.get()), "mill::work");
    ASSERT_FALSE(addresses.empty());
    const auto without = child.inlined(file.get(), addresses);
    ASSERT_TRUE(without) << without.error().message;
    EXPECT_TRUE(without->lacks_alt());
    EXPECT_EQ(without->alt(), BuildId(std::as_bytes(std::span(id))));
    const auto shared = open_file(test::client_path("split70_30"), O_RDONLY).value();
    const auto with = child.inlined(file.get(), addresses, shared.get());
    ASSERT_TRUE(with) << with.error().message;
    EXPECT_FALSE(with->lacks_alt());
    for (const auto address : addresses) EXPECT_EQ(with->find(address), without->find(address));
}

TEST(InlinedFrames, SplitDebugInformationGivesLinesAlone) {
    constexpr const char* kCompiler = "/usr/bin/g++";
    if (::access(kCompiler, X_OK) != 0) GTEST_SKIP() << kCompiler << " is not installed";
    const test::ManualClock clock;
    SymbolChild child(real_child(), clock);
    const test::TempFolder folder;
    const auto program = folder / "split";
    (void)test::output_of(kCompiler, {"-O1", "-g", "-gsplit-dwarf", "-o", program,
                                      std::string(test::kSourceDir) + "/tests/clients/inlining.cpp"});
    const auto file = open_file(program, O_RDONLY).value();
    const auto addresses = code_of(*child.read(file.get()), "mill::work");
    ASSERT_FALSE(addresses.empty());
    const auto frames = child.inlined(file.get(), addresses);
    ASSERT_TRUE(frames) << frames.error().message;
    EXPECT_TRUE(frames->is_split());
    EXPECT_EQ(frames->split_units(), 1U);
    ASSERT_EQ(frames->split_files().size(), 1U);
    EXPECT_TRUE(frames->split_files()[0].ends_with("/split-inlining.dwo")) << frames->split_files()[0];
    std::size_t with_line = 0;
    for (const auto address : addresses) {
        const auto found = frames->find(address);
        EXPECT_LE(found.size(), 1U);
        if (!found.empty() && found[0].line != 0) ++with_line;
    }
    EXPECT_GT(with_line, addresses.size() / 2);
}

// A sound answer: two addresses, the first one with two frames.
std::vector<std::byte> sound() {
    std::vector<std::byte> bytes;
    ByteWriter writer(bytes);
    for (const std::uint32_t word :
         {kInlinedMagic, kInlinedVersion, 2U, 2U, 3U, std::uint32_t{kInlinedDebugInfo}, 7U, 0U}) {
        writer.u32(word);
    }
    for (int i = 0; i < 5; ++i) writer.u32(0);                   // no build-id
    for (const std::uint32_t word : {0U, 0U}) writer.u32(word);  // nothing is split
    for (const std::uint32_t word : {2U, 0U}) writer.u32(word);  // counts
    for (const std::uint32_t word : {1U, 3U, 7U, 2U, 3U, 9U}) writer.u32(word);
    for (const std::uint32_t word : {2U, 4U, 7U}) writer.u32(word);  // ends
    writer.bytes(std::as_bytes(std::span("ingga.c", 7)));
    return bytes;
}
const std::vector<LinkAddress> kTwo{LinkAddress{0x10}, LinkAddress{0x20}};

TEST(InlinedFrames, AreFoundByTheirAddress) {
    const auto frames = InlinedFrames::from_bytes(sound(), kTwo);
    ASSERT_TRUE(frames) << frames.error().message;
    EXPECT_EQ(frames->find(LinkAddress{0x10}),
              (std::vector<InlinedFrame>{{.function = "in", .file = "a.c", .line = 7},
                                         {.function = "gg", .file = "a.c", .line = 9}}));
    EXPECT_TRUE(frames->find(LinkAddress{0x20}).empty());
    EXPECT_TRUE(frames->find(LinkAddress{0x18}).empty());
    EXPECT_TRUE(frames->has_debug_info());
    EXPECT_FALSE(frames->lacks_alt());
}

TEST(InlinedFrames, AnAnswerCutAnywhereOrLyingIsRefused) {
    const auto bytes = sound();
    for (std::size_t size = 0; size < bytes.size(); ++size) {
        EXPECT_FALSE(InlinedFrames::from_bytes(Bytes(bytes).first(size), kTwo)) << size;
    }
    EXPECT_FALSE(InlinedFrames::from_bytes(bytes, {LinkAddress{0x10}})) << "another question's answer";
    // Each word raised beyond what is there, but for flags, the build-id's bytes and lines.
    for (const std::size_t word : {0U, 1U, 2U, 3U, 4U, 6U, 7U, 14U, 15U, 16U, 17U, 18U, 20U, 21U, 23U, 24U, 25U}) {
        auto lie = bytes;
        const std::uint32_t large = 0x7fffffff;
        std::memcpy(lie.data() + word * 4, &large, 4);
        EXPECT_FALSE(InlinedFrames::from_bytes(lie, kTwo)) << "word " << word;
    }
}

}  // namespace
}  // namespace perfvigil::analyzer
