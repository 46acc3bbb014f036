// SPDX-License-Identifier: GPL-2.0-or-later
// A flame graph with what belongs around it: what is pointed at in words, its place beside the pointer, the legend.
import { h, replace, type Child } from '../dom.js';
import { baseName, big, count, seconds, smallPercent } from '../format.js';
import { chip, tip } from '../parts.js';
import { colourOf, kKinds, reasonInWords, type Kind } from '../profile/kind.js';
import type { Tree } from '../profile/tree.js';
import { FlameGraph } from './graph.js';

export function weightText(tree: Tree, weight: number): string {
    if (tree.unit === 0) return `${seconds(weight / 1e9)} of CPU time`;
    return `${big(weight)}${tree.unit === 1 ? ' cycles' : ''}`;
}

const labelOf = (kind: Kind): string => kKinds.find((one) => one.kind === kind)?.label ?? '';

export class FlamePanel {
    readonly element: HTMLElement;
    readonly graph: FlameGraph;
    private readonly line = h('div', { class: 'pointed', attributes: { role: 'status', 'aria-live': 'polite' } });
    private readonly legend = h('div', { class: 'legend' });
    private shownTip: HTMLElement | null = null;
    private tree: Tree | null = null;
    plain = false; // weights mean nothing by themselves
    rest = ''; // of the line, while nothing is pointed at

    constructor(
        label: string,
        on: { zoom?: (node: number) => void; menu?: (node: number) => void; more?: (node: number) => Child[] },
        private readonly colour?: (tree: Tree, node: number) => string,
    ) {
        this.graph = new FlameGraph({
            label: `${label}. Arrow keys walk, Enter zooms, Escape shows all, s shows callers and callees.`,
            colour: (node) => this.colourOf(node),
            onPoint: (node, place) => this.point(node, place, on.more),
            ...(on.zoom ? { onZoom: on.zoom } : {}),
            ...(on.menu ? { onMenu: on.menu } : {}),
        });
        this.element = h('div', {}, this.line, this.graph.element, this.legend);
    }

    close(): void {
        this.shownTip?.remove();
        this.graph.close();
    }

    show(tree: Tree, weight?: number[]): void {
        this.tree = tree;
        this.graph.show(tree, weight);
        this.point(null, null);
        if (this.colour !== undefined) return;
        const kinds = new Set(tree.name.map((name) => tree.names[name]?.kind));
        replace(
            this.legend,
            ...kKinds
                .filter(({ kind }) => kinds.has(kind))
                .map(({ kind, label }) => h('span', {}, chip(colourOf(kind, label)), label)),
        );
    }

    setLegend(...content: Child[]): void {
        replace(this.legend, ...content);
    }

    colourOf(node: number): string {
        const { tree } = this;
        if (tree === null) return '#ccc';
        if (this.colour !== undefined) return this.colour(tree, node);
        const name = tree.names[tree.name[node] ?? -1];
        return name === undefined ? '#dcdcd6' : colourOf(name.kind, name.text);
    }

    // One sentence, for the line below the pointer and for those who hear it.
    describe(node: number): string {
        const { tree } = this;
        if (tree === null) return '';
        const name = tree.names[tree.name[node] ?? -1];
        const whole = tree.total[0] || 1;
        const total = tree.total[node] ?? 0;
        const where = name === undefined ? 'all' : `${name.text}${name.dso === '' ? '' : ` in ${baseName(name.dso)}`}`;
        if (this.plain) return where;
        return `${where}: ${smallPercent(total / whole)} in all, ${smallPercent((tree.self[node] ?? 0) / whole)} itself`;
    }

    private point(node: number | null, place: DOMRect | null, more?: (node: number) => Child[]): void {
        this.shownTip?.remove();
        this.shownTip = null;
        this.line.textContent = node === null ? this.rest : this.describe(node);
        const { tree } = this;
        if (node === null || place === null || tree === null) return;
        const name = tree.names[tree.name[node] ?? -1];
        const total = tree.total[node] ?? 0;
        const self = tree.self[node] ?? 0;
        const whole = tree.total[0] || 1;
        const rows: Child[] = this.plain
            ? []
            : [
                  h('dt', {}, 'total'),
                  h('dd', {}, `${smallPercent(total / whole)} · ${weightText(tree, total)}`),
                  h('dt', {}, 'self'),
                  h('dd', {}, `${smallPercent(self / whole)} · ${weightText(tree, self)}`),
                  h('dt', {}, 'samples'),
                  h('dd', {}, count(tree.samples[node] ?? 0)),
              ];
        if (name !== undefined && name.dso !== '')
            rows.push(h('dt', {}, 'in'), h('dd', {}, `${name.dso} · ${labelOf(name.kind)}`));
        if (name !== undefined && name.reason !== 0)
            rows.push(h('dt', {}, 'no name'), h('dd', {}, reasonInWords(name.reason)));
        this.shownTip = tip(
            [
                h('div', { class: 'name' }, this.graph.textOf(node)),
                h('dl', { class: 'facts' }, ...rows),
                ...(more?.(node) ?? []),
            ],
            place,
        );
    }
}
