// SPDX-License-Identifier: GPL-2.0-or-later
// Profiles of any number merged into one tree of calls, by name. All weights are of one event; idle is left out.
import type { Profile, ProfileFunction } from './decode.js';
import { kindOf, shownName, type Kind } from './kind.js';

export interface Name {
    text: string;
    dso: string;
    kind: Kind;
    reason: number;
}

export interface Tree {
    names: Name[];
    // By node; node 0 is the root, whose total is everything. A parent comes before its children.
    name: number[]; // into names; -1: the root
    parent: number[];
    self: number[];
    total: number[];
    samples: number[]; // total
    // By name.
    event: string;
    unit: number; // as ProfileEvent
    wholeWeight: number; // of the event before the filters, idle left out
    wholeSamples: number;
    idleWeight: number;
    seconds: number; // recorded
}

export interface Choice {
    event?: string; // absent: the first with samples of busy CPUs
    comm?: string;
    systemdUnit?: string;
}

export type Filters = Choice & { threads?: boolean };

const enum Flag {
    kBroken = 1,
    kTruncated = 2,
    kCut = 4,
}

export const kNoUnit = '(no unit)';

export function eventsOf(profiles: Profile[]): { name: string; samples: number; lost: number }[] {
    const sums = new Map<string, { name: string; samples: number; lost: number }>();
    for (const profile of profiles) {
        for (const event of profile.events) {
            const sum = sums.get(event.name) ?? { name: event.name, samples: 0, lost: 0 };
            sum.samples += event.samples - event.idleSamples;
            sum.lost += event.lost;
            sums.set(event.name, sum);
        }
    }
    return [...sums.values()];
}

export function chosenEvent(profiles: Profile[], wanted?: string): string {
    const events = eventsOf(profiles);
    const found = events.find((event) => event.name === wanted) ?? events.find((event) => event.samples > 0);
    return found?.name ?? events[0]?.name ?? '';
}

class Names {
    readonly list: Name[] = [];
    private readonly known = new Map<string, number>();

    number(text: string, dso: string, kind: Kind, reason = 0): number {
        const key = `${kind}\0${text}\0${dso}`;
        let found = this.known.get(key);
        if (found === undefined) {
            found = this.list.push({ text, dso, kind, reason }) - 1;
            this.known.set(key, found);
        }
        return found;
    }

    ofFunction(f: ProfileFunction): number {
        return this.number(shownName(f), f.dso, kindOf(f), f.reason);
    }
}

// Children of a node by name: one map for the whole tree.
const kMostNames = 2 ** 22;

export class TreeBuilder {
    readonly names = new Names();
    private readonly tree: Tree;
    private readonly children = new Map<number, number>();

    constructor(private readonly filters: Filters & { event: string }) {
        this.tree = {
            names: this.names.list,
            name: [-1],
            parent: [-1],
            self: [0],
            total: [0],
            samples: [0],
            event: filters.event,
            unit: 2,
            wholeWeight: 0,
            wholeSamples: 0,
            idleWeight: 0,
            seconds: 0,
        };
    }

    private child(parent: number, name: number): number {
        const key = parent * kMostNames + name;
        let found = this.children.get(key);
        if (found === undefined) {
            const { tree } = this;
            found = tree.name.push(name) - 1;
            tree.parent.push(parent);
            tree.self.push(0);
            tree.total.push(0);
            tree.samples.push(0);
            this.children.set(key, found);
        }
        return found;
    }

    add(profile: Profile): void {
        const { tree, filters } = this;
        tree.seconds += profile.duration / 1000;
        const event = profile.events.findIndex((one) => one.name === filters.event);
        const facts = profile.events[event];
        if (facts === undefined) return;
        tree.unit = facts.unit;
        tree.wholeWeight += facts.weight - facts.idleWeight;
        tree.wholeSamples += facts.samples - facts.idleSamples;
        tree.idleWeight += facts.idleWeight;
        const names = profile.functions.map((f) => this.names.ofFunction(f));
        const wanted = profile.contexts.map((context) => this.wants(context.comm, context.unit));
        const threads = profile.contexts.map((context) => this.names.number(context.comm || '[no name]', '', 'thread'));
        for (let i = 0; i < profile.sampleStacks.length; ++i) {
            const context = profile.sampleContexts[i] ?? 0;
            if (profile.sampleEvents[i] !== event || profile.sampleIdle[i] !== 0 || wanted[context] !== true) continue;
            const stack = profile.sampleStacks[i] ?? 0;
            let at = filters.threads === false ? 0 : this.child(0, threads[context] ?? 0);
            const path = [0, at];
            const mark = this.mark(profile.stackFlags[stack] ?? 0);
            if (mark !== null) path.push((at = this.child(at, mark)));
            const first = profile.stackFirst[stack] ?? 0;
            for (let frame = (profile.stackFirst[stack + 1] ?? 0) - 1; frame >= first; --frame) {
                path.push((at = this.child(at, names[profile.stackFunctions[frame] ?? 0] ?? 0)));
            }
            this.count(path, profile.sampleWeights[i] ?? 0, profile.sampleCounts[i] ?? 0);
        }
    }

    private wants(comm: string, unit: string): boolean {
        const { comm: wantedComm, systemdUnit } = this.filters;
        if (wantedComm !== undefined && comm !== wantedComm) return false;
        return systemdUnit === undefined || (unit || kNoUnit) === systemdUnit;
    }

    // One caller more for a stack that lacks some, so that it is not merged with whole ones.
    private mark(flags: number): number | null {
        if ((flags & Flag.kBroken) !== 0) return this.names.number('[broken]', '', 'broken');
        if ((flags & Flag.kTruncated) !== 0) return this.names.number('[truncated]', '', 'broken');
        if ((flags & Flag.kCut) !== 0) return this.names.number('[shortened]', '', 'broken');
        return null;
    }

    private count(path: number[], weight: number, samples: number): void {
        const { tree } = this;
        let last = -1;
        for (const node of path) {
            if (node === last) continue; // without threads the root stands twice
            tree.total[node] = (tree.total[node] ?? 0) + weight;
            tree.samples[node] = (tree.samples[node] ?? 0) + samples;
            last = node;
        }
        tree.self[last] = (tree.self[last] ?? 0) + weight;
    }

    done(): Tree {
        return this.tree;
    }
}

export function buildTree(profiles: Profile[], filters: Filters): Tree {
    const builder = new TreeBuilder({ ...filters, event: chosenEvent(profiles, filters.event) });
    for (const profile of profiles) builder.add(profile);
    return builder.done();
}

// Nodes in the order of children, heaviest first, as lists.
export function childrenOf(tree: Tree): number[][] {
    const children: number[][] = tree.name.map(() => []);
    for (let node = 1; node < tree.name.length; ++node) children[tree.parent[node] ?? 0]?.push(node);
    const total = (node: number): number => tree.total[node] ?? 0;
    for (const list of children) list.sort((a, b) => total(b) - total(a) || a - b);
    return children;
}

export interface FunctionRow {
    name: number;
    self: number;
    total: number; // a sample counts once, however often the function stands in its chain
    selfSamples: number;
}

export function functionRows(tree: Tree): FunctionRow[] {
    const rows = new Map<number, FunctionRow>();
    const ownSamples = Float64Array.from(tree.samples);
    for (let node = 1; node < tree.name.length; ++node) {
        const parent = tree.parent[node] ?? 0;
        ownSamples[parent] = (ownSamples[parent] ?? 0) - (tree.samples[node] ?? 0);
    }
    for (let node = 1; node < tree.name.length; ++node) {
        const name = tree.name[node] ?? 0;
        const kind = tree.names[name]?.kind;
        if (kind === 'thread' || kind === 'broken') continue;
        const row = rows.get(name) ?? { name, self: 0, total: 0, selfSamples: 0 };
        row.self += tree.self[node] ?? 0;
        row.selfSamples += ownSamples[node] ?? 0;
        let above = tree.parent[node] ?? -1;
        while (above > 0 && tree.name[above] !== name) above = tree.parent[above] ?? -1;
        if (above <= 0) row.total += tree.total[node] ?? 0;
        rows.set(name, row);
    }
    return [...rows.values()].sort((a, b) => b.self - a.self || b.total - a.total);
}

// Callers and callees of one function (a sandwich): two trees whose root is the function. Callers grow towards the
// outside, so each sample is counted once in either.
export function sandwich(tree: Tree, name: number): { callers: Tree; callees: Tree } {
    const make = (): { tree: Tree; child: (parent: number, name: number) => number } => {
        const made: Tree = { ...tree, name: [name], parent: [-1], self: [0], total: [0], samples: [0] };
        const known = new Map<number, number>();
        const child = (parent: number, of: number): number => {
            const key = parent * kMostNames + of;
            let found = known.get(key);
            if (found === undefined) {
                found = made.name.push(of) - 1;
                made.parent.push(parent);
                made.self.push(0);
                made.total.push(0);
                made.samples.push(0);
                known.set(key, found);
            }
            return found;
        };
        return { tree: made, child };
    };
    const callers = make();
    const callees = make();
    const add = (to: Tree, node: number, weight: number, samples: number): void => {
        to.total[node] = (to.total[node] ?? 0) + weight;
        to.samples[node] = (to.samples[node] ?? 0) + samples;
    };
    const below = new Int32Array(tree.name.length).fill(-1); // where a node stands among the callees
    for (let node = 1; node < tree.name.length; ++node) {
        const parent = tree.parent[node] ?? 0;
        const weight = tree.total[node] ?? 0;
        const samples = tree.samples[node] ?? 0;
        const inside = below[parent] ?? -1;
        if (inside >= 0) below[node] = callees.child(inside, tree.name[node] ?? 0);
        else if (tree.name[node] === name) below[node] = 0;
        const at = below[node] ?? -1;
        if (at >= 0) {
            add(callees.tree, at, weight, samples);
            callees.tree.self[at] = (callees.tree.self[at] ?? 0) + (tree.self[node] ?? 0);
        }
        if (inside >= 0 || tree.name[node] !== name) continue; // the outermost call counts
        let up = 0;
        add(callers.tree, 0, weight, samples);
        for (let above = parent; above > 0; above = tree.parent[above] ?? 0) {
            up = callers.child(up, tree.name[above] ?? 0);
            add(callers.tree, up, weight, samples);
        }
    }
    return { callers: callers.tree, callees: callees.tree };
}

// Collapsed stacks as docs/exports.md has them.
export function folded(tree: Tree): string {
    const escape = (text: string): string =>
        text
            .replace(/[\\;]/g, (c) => (c === ';' ? '\\x3b' : '\\\\'))
            .replace(/[\0-\x1f\x7f]/g, (c) => `\\x${c.charCodeAt(0).toString(16).padStart(2, '0')}`);
    const paths: string[] = [''];
    const lines: string[] = [];
    for (let node = 1; node < tree.name.length; ++node) {
        const above = paths[tree.parent[node] ?? 0] ?? '';
        const path = `${above}${above === '' ? '' : ';'}${escape(tree.names[tree.name[node] ?? 0]?.text ?? '')}`;
        paths.push(path);
        const self = tree.self[node] ?? 0;
        if (self > 0) lines.push(`${path} ${self}`);
    }
    return lines.join('\n') + (lines.length > 0 ? '\n' : '');
}
