// SPDX-License-Identifier: GPL-2.0-or-later
// What a source of names answered is what the evidence of it answers, after a way through bytes.
#include "analyzer/bundle/evidence_recorder.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "analyzer/bundle/evidence_codec.hpp"
#include "analyzer/bundle/evidence_names.hpp"

namespace perfvigil::analyzer {
namespace {

using collector::Dso;
using collector::DsoKind;
using collector::DsoRef;

BuildId id_of(std::string_view bytes) { return BuildId(std::as_bytes(std::span(bytes))); }

// A program of a package, a module and the kernel.
class Host final : public NameSource, private UserChains {
public:
    Symbol resolve(const DsoRef& dso, std::uint64_t offset) override {
        if (dso->kind == DsoKind::kFile) return {.name = "serve", .dso = dso->path, .start = offset & ~15U, .size = 16};
        return {.name = "f", .dso = offset < 0x1000 ? "[kernel.kallsyms]" : "[ext4]", .start = offset, .size = 1};
    }
    FileFacts describe(const DsoRef& dso) override {
        if (dso->path != "/usr/sbin/web") return {.build_id = dso->build_id};
        return {.build_id = id_of("the file's own build"), .package = "web", .package_version = "2:1.26-4"};
    }
    std::vector<collector::KernelTextRange> kernel_text() override { return {}; }
    CodeFrames frames_of(const std::vector<SampledCode>& codes, DebugScope /*scope*/) override {
        CodeFrames made;
        for (const auto& code : codes) {
            made.frames.push_back(
                {{.function = "inner", .file = "a.h", .line = static_cast<std::uint32_t>(code.offset)}});
        }
        made.sentences = {"of files"};
        made.module_sentences = {"of modules"};
        return made;
    }
    UserChains& user_chains() override { return *this; }
    std::vector<JitCode> jit_code(const DsoRef&) override { return {}; }
    Result<void> usable() override { return {}; }
    std::vector<std::string> refusals() override { return {}; }
    std::vector<collector::Degraded> degraded() override { return {}; }
    std::vector<std::string> unwinding() override { return {}; }
    std::vector<std::string> notes() override { return {}; }

private:
    std::optional<UnwoundChain> chain_of(const collector::SampleRecord&, const collector::Process&) override {
        return std::nullopt;
    }
};

class EvidenceOfAHost : public testing::Test {
protected:
    static DsoRef dso(std::uint32_t id, DsoKind kind, std::string path) {
        return std::make_shared<const Dso>(
            Dso{.id = collector::DsoId{id}, .kind = kind, .path = std::move(path), .build_id = {}});
    }
    EvidenceNames names_of(EvidenceRecorder& recorder) {
        auto decoded = decode_evidence(encode_evidence(recorder.take()));
        EXPECT_TRUE(decoded) << decoded.error().message;
        return EvidenceNames(std::make_shared<const Evidence>(std::move(*decoded)));
    }

    Host host_;
    DsoRef web_ = dso(1, DsoKind::kFile, "/usr/sbin/web");
    DsoRef other_ = dso(2, DsoKind::kFile, "/usr/sbin/other");
    DsoRef kernel_ = dso(3, DsoKind::kKernel, "[kernel.kallsyms]");
};

TEST_F(EvidenceOfAHost, DescribesProgramsAsTheHostDid) {
    EvidenceRecorder recorder(host_);
    (void)recorder.resolve(other_, 0x10);
    for (const auto& program : {web_, other_}) {
        const auto said = recorder.describe(program);
        EXPECT_EQ(said.package, host_.describe(program).package);
    }
    auto names = names_of(recorder);
    for (const auto& program : {web_, other_, dso(9, DsoKind::kFile, "/never/seen")}) {
        const auto here = host_.describe(program);
        const auto there = names.describe(program);
        EXPECT_EQ(there.build_id, here.build_id) << program->path;
        EXPECT_EQ(there.package, here.package) << program->path;
        EXPECT_EQ(there.package_version, here.package_version) << program->path;
    }
}

TEST_F(EvidenceOfAHost, KeepsModulesApartInDebugInformation) {
    EvidenceRecorder recorder(host_);
    const std::vector<SampledCode> codes{
        {.dso = web_, .offset = 7}, {.dso = kernel_, .offset = 8}, {.dso = kernel_, .offset = 0x2000}};
    for (const auto& code : codes) (void)recorder.resolve(code.dso, code.offset);
    (void)recorder.frames_of(codes, DebugScope::kEverything);
    auto names = names_of(recorder);
    const auto lines = [&](DebugScope scope) {
        std::vector<std::uint32_t> all;
        for (const auto& frames : names.frames_of(codes, scope).frames)
            all.push_back(frames.empty() ? 0 : frames[0].line);
        return all;
    };
    EXPECT_EQ(lines(DebugScope::kEverything), (std::vector<std::uint32_t>{7, 8, 0x2000}));
    EXPECT_EQ(lines(DebugScope::kNotModules), (std::vector<std::uint32_t>{7, 8, 0}));
    EXPECT_TRUE(names.frames_of(codes, DebugScope::kNotModules).module_sentences.empty());
    EXPECT_EQ(names.frames_of(codes, DebugScope::kEverything).module_sentences,
              (std::vector<std::string>{"of modules"}));
}

}  // namespace
}  // namespace perfvigil::analyzer
