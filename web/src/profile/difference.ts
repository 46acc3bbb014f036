// SPDX-License-Identifier: GPL-2.0-or-later
// Two trees of calls as one, with both sides' shares in each node, and what of a difference may be chance.
import type { Tree } from './tree.js';

export interface DiffTree {
    tree: Tree; // total: the mean of both shares, in parts of kWhole
    before: Float64Array; // shares of 1, by node
    after: Float64Array;
    certain: Uint8Array; // 1: more than sampling alone explains (95 %)
}

export const kWhole = 1e9;
const kZ = 1.959963984540054;

export function mergeTrees(before: Tree, after: Tree): DiffTree {
    const names = [...before.names];
    const numbers = new Map(names.map((name, i) => [`${name.kind}\0${name.text}\0${name.dso}`, i]));
    const renamed = after.names.map((name) => {
        const key = `${name.kind}\0${name.text}\0${name.dso}`;
        let number = numbers.get(key);
        if (number === undefined) {
            number = names.push(name) - 1;
            numbers.set(key, number);
        }
        return number;
    });
    const tree: Tree = {
        ...after,
        names,
        name: [...before.name],
        parent: [...before.parent],
        self: [],
        total: [],
        samples: [],
    };
    const shareBefore = before.total.map((weight) => weight / (before.total[0] || 1));
    const samplesBefore = [...before.samples];
    const shareAfter = new Array<number>(before.name.length).fill(0);
    const samplesAfter = new Array<number>(before.name.length).fill(0);
    const children = new Map<number, number>();
    const keyOf = (parent: number, name: number): number => parent * names.length + name;
    for (let node = 1; node < before.name.length; ++node)
        children.set(keyOf(before.parent[node] ?? 0, before.name[node] ?? 0), node);
    const place = new Int32Array(after.name.length);
    for (let node = 0; node < after.name.length; ++node) {
        let at = 0;
        if (node > 0) {
            const parent = place[after.parent[node] ?? 0] ?? 0;
            const name = renamed[after.name[node] ?? 0] ?? 0;
            const key = keyOf(parent, name);
            const found = children.get(key);
            if (found === undefined) {
                at = tree.name.push(name) - 1;
                tree.parent.push(parent);
                children.set(key, at);
                shareBefore.push(0);
                samplesBefore.push(0);
                shareAfter.push(0);
                samplesAfter.push(0);
            } else at = found;
        }
        place[node] = at;
        shareAfter[at] = (shareAfter[at] ?? 0) + (after.total[node] ?? 0) / (after.total[0] || 1);
        samplesAfter[at] = (samplesAfter[at] ?? 0) + (after.samples[node] ?? 0);
    }
    const count = tree.name.length;
    tree.total = tree.name.map((_, node) => (((shareBefore[node] ?? 0) + (shareAfter[node] ?? 0)) / 2) * kWhole);
    tree.samples = tree.name.map((_, node) => (samplesBefore[node] ?? 0) + (samplesAfter[node] ?? 0));
    tree.self = new Array<number>(count).fill(0);
    const certain = Uint8Array.from({ length: count }, (_, node) =>
        beyondChance(samplesBefore[node] ?? 0, before.samples[0] ?? 0, samplesAfter[node] ?? 0, after.samples[0] ?? 0)
            ? 1
            : 0,
    );
    return { tree, before: Float64Array.from(shareBefore), after: Float64Array.from(shareAfter), certain };
}

// Two shares differ by more than sampling alone would in nineteen cases of twenty.
export function beyondChance(k0: number, n0: number, k1: number, n1: number): boolean {
    if (n0 === 0 || n1 === 0 || k0 + k1 < 10) return false;
    const pooled = (k0 + k1) / (n0 + n1);
    const error = Math.sqrt(pooled * (1 - pooled) * (1 / n0 + 1 / n1));
    return Math.abs(k1 / n1 - k0 / n0) > kZ * error;
}

const kSame = [0xf0, 0xf0, 0xee] as const;
const kMore = [0xff, 0x6a, 0x5e] as const;
const kLess = [0x6f, 0xa8, 0xff] as const;

// Red: more than before, blue: less; pale where it may be chance.
export function changeColour(diff: DiffTree, node: number): string {
    const before = diff.before[node] ?? 0;
    const after = diff.after[node] ?? 0;
    const most = Math.max(before, after);
    const change = most === 0 || diff.certain[node] !== 1 ? 0 : (after - before) / most;
    const full = change > 0 ? kMore : kLess;
    const part = change === 0 ? 0 : Math.min(1, 0.25 + 0.75 * Math.abs(change));
    return `rgb(${kSame.map((value, i) => Math.round(value + ((full[i] ?? 0) - value) * part)).join(',')})`;
}
