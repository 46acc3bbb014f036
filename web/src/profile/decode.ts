// SPDX-License-Identifier: GPL-2.0-or-later
// A stored profile (docs/profile.proto inside a zstd frame) as plain tables. Decoded here rather than by the daemon: who
// looks pays, not the host under analysis.
import { decompress } from 'fzstd';
import { PbfReader } from 'pbf';

export interface ProfileEvent {
    name: string;
    unit: number; // 0 nanoseconds, 1 cycles, 2 events
    samples: number;
    weight: number;
    idleSamples: number;
    idleWeight: number;
    lost: number;
    rate: number;
}

export interface ProfileFunction {
    name: string;
    dso: string;
    kernel: boolean;
    reason: number; // why there is no name; 0: there is one
}

export interface Context {
    comm: string;
    unit: string;
    container: string;
}

export interface Moment {
    end: number; // ms since 1970
    length: number; // ms
    busy: { cpu: number; known: boolean; ratio: number; low: number; high: number; enabled: number }[];
}

export interface Profile {
    id: string;
    start: number; // ms since 1970
    end: number;
    duration: number; // ms
    events: ProfileEvent[];
    functions: ProfileFunction[];
    // Stack n: functions of stackFunctions[stackFirst[n] … stackFirst[n + 1]), innermost first.
    stackFirst: Uint32Array;
    stackFlags: number[];
    stackFunctions: number[];
    contexts: Context[];
    // Columns, a row per sample group.
    sampleEvents: number[];
    sampleStacks: number[];
    sampleContexts: number[];
    sampleIdle: number[];
    sampleCounts: number[];
    sampleWeights: number[];
    moments: Moment[];
    degraded: { reason: string; detail: string; remedy: string }[];
    warnings: string[];
    notes: string[];
    partial: boolean;
}

const nsToMs = (value: number): number => value / 1e6;

function readEvent(pbf: PbfReader, end: number): ProfileEvent {
    const event = { name: '', unit: 0, samples: 0, weight: 0, idleSamples: 0, idleWeight: 0, lost: 0, rate: 0 };
    pbf.readFields(
        (field, made, reader) => {
            if (field === 1) made.name = reader.readString();
            else if (field === 2) made.unit = reader.readVarint();
            else if (field === 4) made.rate = reader.readVarint();
            else if (field === 6) made.samples = reader.readVarint();
            else if (field === 7) made.weight = reader.readVarint();
            else if (field === 8) made.idleSamples = reader.readVarint();
            else if (field === 9) made.idleWeight = reader.readVarint();
            else if (field === 10) made.lost = reader.readVarint();
        },
        event,
        end,
    );
    return event;
}

// Messages of strings only, by field number.
function readTexts<K extends string>(pbf: PbfReader, end: number, names: Record<number, K>): Record<K, string> {
    const made = Object.fromEntries(Object.values(names).map((name) => [name, ''])) as Record<K, string>;
    pbf.readFields(
        (field, texts, reader) => {
            const name = names[field];
            if (name !== undefined) texts[name] = reader.readString();
        },
        made,
        end,
    );
    return made;
}

type MomentCpu = Moment['busy'][number];

function readMomentCpu(pbf: PbfReader, end: number): MomentCpu {
    const cpu: MomentCpu = { cpu: 0, known: false, ratio: 0, low: 0, high: 0, enabled: 0 };
    pbf.readFields(
        (field, made, reader) => {
            if (field === 1) made.cpu = reader.readVarint();
            else if (field === 4) made.enabled = nsToMs(reader.readSVarint());
            else if (field === 22) {
                reader.readFields(
                    (part, busy, inner) => {
                        if (part === 1) busy.known = inner.readBoolean();
                        else if (part === 2) busy.ratio = inner.readDouble();
                        else if (part === 3) busy.low = inner.readDouble();
                        else if (part === 4) busy.high = inner.readDouble();
                    },
                    made,
                    reader.readVarint() + reader.pos,
                );
            }
        },
        cpu,
        end,
    );
    return cpu;
}

function readMoment(pbf: PbfReader, end: number): Moment {
    const moment: Moment = { end: 0, length: 0, busy: [] };
    pbf.readFields(
        (field, made, reader) => {
            if (field === 1) made.end = nsToMs(reader.readSVarint());
            else if (field === 2) made.length = nsToMs(reader.readSVarint());
            else if (field === 4) made.busy.push(readMomentCpu(reader, reader.readVarint() + reader.pos));
        },
        moment,
        end,
    );
    return moment;
}

interface Raw {
    version: number;
    names: string[];
    dsos: string[];
    functionDsos: number[];
    functionKinds: number[];
    depths: number[];
}

type Filling = Profile & { raw: Raw };

function readField(field: number, made: Filling, pbf: PbfReader): void {
    const inner = (): number => pbf.readVarint() + pbf.pos;
    switch (field) {
        case 1:
            made.raw.version = pbf.readVarint();
            break;
        case 2:
            made.id = pbf.readString();
            break;
        case 3:
            made.start = nsToMs(pbf.readSVarint());
            break;
        case 4:
            made.end = nsToMs(pbf.readSVarint());
            break;
        case 5:
            made.duration = nsToMs(pbf.readSVarint());
            break;
        case 7:
            made.events.push(readEvent(pbf, inner()));
            break;
        case 8:
            made.raw.names.push(pbf.readString());
            break;
        case 9:
            made.raw.dsos.push(pbf.readString());
            break;
        case 10:
            pbf.readPackedVarint(made.raw.functionDsos);
            break;
        case 11:
            pbf.readPackedVarint(made.raw.functionKinds);
            break;
        case 12:
            pbf.readPackedVarint(made.raw.depths);
            break;
        case 13:
            pbf.readPackedVarint(made.stackFlags);
            break;
        case 14:
            pbf.readPackedVarint(made.stackFunctions);
            break;
        case 15:
            made.contexts.push(readTexts(pbf, inner(), { 1: 'comm', 2: 'unit', 3: 'container' }));
            break;
        case 16:
            pbf.readPackedVarint(made.sampleEvents);
            break;
        case 17:
            pbf.readPackedVarint(made.sampleStacks);
            break;
        case 18:
            pbf.readPackedVarint(made.sampleContexts);
            break;
        case 19:
            pbf.readPackedVarint(made.sampleIdle);
            break;
        case 20:
            pbf.readPackedVarint(made.sampleCounts);
            break;
        case 21:
            pbf.readPackedVarint(made.sampleWeights);
            break;
        case 23:
            made.moments.push(readMoment(pbf, inner()));
            break;
        case 25:
            made.degraded.push(readTexts(pbf, inner(), { 1: 'reason', 2: 'detail', 3: 'remedy' }));
            break;
        case 26:
            made.warnings.push(pbf.readString());
            break;
        case 27:
            made.notes.push(pbf.readString());
            break;
        case 28:
            made.partial = pbf.readBoolean();
            break;
        default:
            break; // readFields skips it
    }
}

export function decodeProfile(stored: Uint8Array): Profile {
    const made: Filling = {
        id: '',
        start: 0,
        end: 0,
        duration: 0,
        events: [],
        functions: [],
        stackFirst: new Uint32Array(1),
        stackFlags: [],
        stackFunctions: [],
        contexts: [],
        sampleEvents: [],
        sampleStacks: [],
        sampleContexts: [],
        sampleIdle: [],
        sampleCounts: [],
        sampleWeights: [],
        moments: [],
        degraded: [],
        warnings: [],
        notes: [],
        partial: false,
        raw: { version: 0, names: [], dsos: [], functionDsos: [], functionKinds: [], depths: [] },
    };
    new PbfReader(decompress(stored)).readFields(readField, made);
    const { raw, ...profile } = made;
    if (raw.version !== 1) throw new Error(`The profile has version ${raw.version}, which this page does not know.`);
    profile.functions = raw.names.map((name, i) => {
        const kind = raw.functionKinds[i] ?? 0;
        return { name, dso: raw.dsos[raw.functionDsos[i] ?? 0] ?? '', kernel: (kind & 1) !== 0, reason: kind >> 1 };
    });
    profile.stackFirst = new Uint32Array(raw.depths.length + 1);
    raw.depths.forEach((depth, i) => (profile.stackFirst[i + 1] = (profile.stackFirst[i] ?? 0) + depth));
    if ((profile.stackFirst.at(-1) ?? 0) !== profile.stackFunctions.length) {
        throw new Error('The profile is damaged: its stacks do not add up.');
    }
    return profile;
}
