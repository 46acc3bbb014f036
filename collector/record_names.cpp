// SPDX-License-Identifier: GPL-2.0-or-later
// The names that perf's own tools print for record types.
#include "collector/record.hpp"

namespace perfvigil::collector {

std::string_view record_type_name(std::uint32_t type) {
    switch (type) {
        case kRecordMmap: return "MMAP";
        case kRecordLost: return "LOST";
        case kRecordComm: return "COMM";
        case kRecordExit: return "EXIT";
        case kRecordThrottle: return "THROTTLE";
        case kRecordUnthrottle: return "UNTHROTTLE";
        case kRecordFork: return "FORK";
        case kRecordRead: return "READ";
        case kRecordSample: return "SAMPLE";
        case kRecordMmap2: return "MMAP2";
        case kRecordAux: return "AUX";
        case kRecordItraceStart: return "ITRACE_START";
        case kRecordLostSamples: return "LOST_SAMPLES";
        case kRecordSwitch: return "SWITCH";
        case kRecordSwitchCpuWide: return "SWITCH_CPU_WIDE";
        case kRecordNamespaces: return "NAMESPACES";
        case kRecordKsymbol: return "KSYMBOL";
        case kRecordBpfEvent: return "BPF_EVENT";
        case kRecordCgroup: return "CGROUP";
        case kRecordTextPoke: return "TEXT_POKE";
        case kRecordAuxOutputHwId: return "AUX_OUTPUT_HW_ID";
        case kRecordHeaderAttr: return "HEADER_ATTR";
        case kRecordEventType: return "EVENT_TYPE";
        case kRecordTracingData: return "TRACING_DATA";
        case kRecordBuildId: return "BUILD_ID";
        case kRecordFinishedRound: return "FINISHED_ROUND";
        case kRecordIdIndex: return "ID_INDEX";
        case kRecordAuxtraceInfo: return "AUXTRACE_INFO";
        case kRecordAuxtrace: return "AUXTRACE";
        case kRecordThreadMap: return "THREAD_MAP";
        case kRecordCpuMap: return "CPU_MAP";
        case kRecordEventUpdate: return "EVENT_UPDATE";
        case kRecordTimeConv: return "TIME_CONV";
        case kRecordHeaderFeature: return "HEADER_FEATURE";
        case kRecordCompressed: return "COMPRESSED";
        case kRecordFinishedInit: return "FINISHED_INIT";
        case kRecordCompressed2: return "COMPRESSED2";
        default: return "";
    }
}

}  // namespace perfvigil::collector
