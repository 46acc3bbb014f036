// SPDX-License-Identifier: GPL-2.0-or-later
// What sort of code a frame is, which its colour tells: the rules and colours of the exported flame graphs
// (docs/exports.md).
import type { ProfileFunction } from './decode.js';
import { baseName } from '../format.js';

export type Kind = 'thread' | 'user' | 'jit' | 'kernel' | 'module' | 'unknown' | 'broken';

export const kKinds: { kind: Kind; label: string }[] = [
    { kind: 'user', label: 'program or library' },
    { kind: 'kernel', label: 'kernel' },
    { kind: 'module', label: 'kernel module' },
    { kind: 'jit', label: 'just-in-time code' },
    { kind: 'unknown', label: 'no name' },
    { kind: 'broken', label: 'callers missing' },
    { kind: 'thread', label: 'thread' },
];

function isModule(dso: string): boolean {
    if (dso.endsWith('.ko') || dso.includes('.ko.')) return true;
    return dso.startsWith('[') && !/^\[(kernel|guest|unknown|hypervisor)/.test(dso);
}

function isJit(dso: string): boolean {
    return dso === '[jit]' || /^(\/\/anon|\[anon|\/memfd:)/.test(dso) || /^perf-.*\.map$/.test(baseName(dso));
}

export function kindOf(f: ProfileFunction): Kind {
    if (f.reason !== 0 || f.name === '' || f.name === '[unknown]') return 'unknown';
    if (f.kernel) return isModule(f.dso) ? 'module' : 'kernel';
    return isJit(f.dso) ? 'jit' : 'user';
}

// Of a name alone, where nothing says whether it is the kernel's (/v1/live).
export function kindOfNamed(name: string, dso: string, reason?: string): Kind {
    const kernel =
        (dso.startsWith('[') && !/^\[(vdso|vsyscall|jit|anon|unknown|heap|stack|uprobes)/.test(dso)) || isModule(dso);
    return kindOf({ name, dso, kernel, reason: reason === undefined ? 0 : 1 });
}

// Functions without a name are called by their binary.
export function shownName(f: ProfileFunction): string {
    if (f.name !== '' && f.name !== '[unknown]') return f.name;
    const binary = baseName(f.dso);
    if (binary === '') return '[unknown]';
    return binary.startsWith('[') ? binary : `[${binary}]`;
}

// UnknownReason of the profile's format, in words.
const kReasons = [
    '',
    'its file could not be opened',
    'the file at its path is another build',
    'its file is stripped',
    'no symbol covers the address',
    'code without a file, and no perf map',
    'the kernel hides its symbols',
    'its file could not be read',
    'its file was not read yet',
    'the address lay in no mapping',
];
export const reasonInWords = (reason: number): string => kReasons[reason] ?? 'unknown';

function hash(text: string): number {
    let value = 0x811c9dc5;
    for (let i = 0; i < text.length; ++i) value = Math.imul(value ^ text.charCodeAt(i), 0x01000193) >>> 0;
    return value;
}

type Rgb = readonly [number, number, number];
const kLight: Record<Kind, readonly [Rgb, Rgb]> = {
    thread: [
        [0xd2, 0xc6, 0xe6],
        [0xe2, 0xda, 0xf0],
    ],
    user: [
        [0xf2, 0xa8, 0x55],
        [0xfb, 0xd5, 0x86],
    ],
    jit: [
        [0xa3, 0xcf, 0x6a],
        [0xc8, 0xe6, 0x96],
    ],
    kernel: [
        [0x8a, 0xb8, 0xe6],
        [0xb4, 0xd6, 0xf4],
    ],
    module: [
        [0x74, 0xc8, 0xb8],
        [0xa4, 0xe2, 0xd4],
    ],
    unknown: [
        [0xc2, 0xc2, 0xc2],
        [0xd8, 0xd8, 0xd8],
    ],
    broken: [
        [0xe8, 0xb4, 0xb8],
        [0xf2, 0xcc, 0xce],
    ],
};

export function colourOf(kind: Kind, name: string): string {
    const [dark, light] = kLight[kind];
    const part = (hash(name) % 101) / 100;
    const mixed = dark.map((value, i) => Math.round(value + ((light[i] ?? 0) - value) * part));
    return `rgb(${mixed.join(',')})`;
}
