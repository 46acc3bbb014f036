// SPDX-License-Identifier: GPL-2.0-or-later
// Field numbers of docs/bundle.proto, for the two halves of the codec.
#pragma once

#include <cstdint>

namespace perfvigil::analyzer::evidence_field {

enum Evidence : std::uint32_t {
    kVersion = 1,
    kProgram = 2,
    kMade = 3,
    kStrings = 4,
    kSymbolNames = 5,
    kSymbolDsos = 6,
    kSymbolStarts = 7,
    kSymbolSizes = 8,
    kSymbolReasons = 9,
    kChainLengths = 10,
    kFrameFunctions = 11,
    kFrameFiles = 12,
    kFrameLines = 13,
    kDsos = 14,
    kTextStarts = 15,
    kTextSizes = 16,
    kTextClasses = 17,
    kRefusals = 18,
    kLineSentences = 19,
    kDegraded = 20,
    kCodes = 21,
    kFunctionsWithoutCode = 22,
    kNotes = 23,
    kStackLengths = 24,
    kStackAddresses = 25,
    kUnwoundSamples = 26,  // the first one, then how far each is from the one before
    kUnwoundStacks = 27,
    kUnwoundFlags = 28,
    kUnwinding = 29,
    kPlacementDsos = 30,
    kPlacementTimes = 31,
    kPlacementStarts = 32,
    kPlacementSizes = 33,
    kPlacementCodes = 34,
    kModuleLineSentences = 35,
};

enum Dso : std::uint32_t {
    kDsoKind = 1,
    kDsoPath = 2,
    kDsoBuildId = 3,
    kDsoMajor = 4,
    kDsoMinor = 5,
    kDsoInode = 6,
    kDsoInodeGeneration = 7,
    kDsoPid = 8,
    kDsoOffsets = 9,  // the first one, then how far each is from the one before
    kDsoSymbols = 10,
    kDsoChains = 11,
    kDsoFunction = 12,
    kDsoStart = 13,
    kDsoFileBuildId = 14,
    kDsoPackage = 15,
    kDsoPackageVersion = 16,
};

enum Code : std::uint32_t {
    kCodeDso = 1,
    kCodeStart = 2,
    kCodeShift = 3,
    kCodeMachine = 4,
    kCodeBigEndian = 5,
    kCodeNarrow = 6,
    kCodeBytes = 7,
    kCodeHasLines = 8,
    kCodeLineOffsets = 9,
    kCodeLineFiles = 10,
    kCodeLineNumbers = 11,
    kCodeNotes = 12,
};

enum Degraded : std::uint32_t { kReason = 1, kDetail = 2, kRemedy = 3 };

}  // namespace perfvigil::analyzer::evidence_field
