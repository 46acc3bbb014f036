// SPDX-License-Identifier: GPL-2.0-or-later
// A flame graph on a canvas: only what is in sight and wide enough is drawn, so 20 000 frames cost no more than 2 000.
// Works by mouse and by keyboard; what is under either is told by `onPoint`.
import { h } from '../dom.js';
import { firstAfter, layOut, nodeAt, rightOf, type Layout } from './layout.js';
import type { Tree } from '../profile/tree.js';

export interface GraphOptions {
    label: string; // for those who do not see it
    colour: (node: number) => string;
    text?: (node: number) => string;
    // null: nothing is pointed at any more.
    onPoint?: (node: number | null, place: DOMRect | null) => void;
    onZoom?: (node: number) => void;
    onMenu?: (node: number) => void; // double click, or "s"
}

const kRow = 18;
const kFont = '11px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace';
const kPadding = 4;
const kNarrow = 0.8; // pixels; what is narrower is drawn as one with its neighbours
const kWorthARow = 1.5; // pixels: rows of narrower frames alone are not drawn
const kFade = 0.45;
const kMatch = '#e600e6';

export class FlameGraph {
    readonly element: HTMLElement;
    private readonly canvas: HTMLCanvasElement;
    private layout: Layout | null = null;
    private colours: string[] = [];
    private zoomed = 0;
    private pointed: number | null = null;
    private icicle = false;
    private matches: Uint8Array | null = null; // by name
    private readonly observer: ResizeObserver;
    private asked = 0;
    private letter = 6.6;
    private depths = 1; // that are drawn
    private placed = false; // scrolled to the root
    onPainted: (() => void) | null = null; // once
    private zoomedAt: number | null = null; // until it is painted

    constructor(private readonly options: GraphOptions) {
        this.canvas = h('canvas', {
            class: 'flame-canvas',
            attributes: {
                tabindex: 0,
                role: 'application',
                'aria-label': options.label,
                'aria-roledescription': 'flame graph',
            },
            on: {
                mousemove: (event: MouseEvent) => this.point(this.under(event), event),
                mouseleave: () => this.point(null),
                click: (event: MouseEvent) => this.click(event),
                dblclick: (event: MouseEvent) => {
                    const node = this.under(event);
                    if (node !== null && node > 0) this.options.onMenu?.(node);
                },
                keydown: (event: KeyboardEvent) => this.key(event),
                blur: () => this.point(null),
            },
        });
        this.element = h('div', { class: 'flame' }, this.canvas);
        this.observer = new ResizeObserver(() => this.draw());
        this.observer.observe(this.element);
    }

    close(): void {
        this.observer.disconnect();
        cancelAnimationFrame(this.asked);
    }

    get laidOut(): Layout | null {
        return this.layout;
    }

    show(tree: Tree, weight?: number[]): void {
        this.layout = layOut(tree, weight);
        this.colours = tree.name.map((_, node) => this.options.colour(node));
        this.zoomed = 0;
        this.pointed = null;
        this.placed = false;
        this.paint();
    }

    recolour(): void {
        if (this.layout === null) return;
        this.colours = this.layout.tree.name.map((_, node) => this.options.colour(node));
        this.draw();
    }

    setIcicle(icicle: boolean): void {
        this.placed = this.placed && this.icicle === icicle;
        this.icicle = icicle;
        this.draw();
    }

    // By number of the name; null: nothing is searched.
    setMatches(matches: Uint8Array | null): void {
        this.matches = matches;
        this.draw();
    }

    zoom(node: number): void {
        this.placed = this.placed && this.zoomed === node;
        this.zoomed = node;
        this.zoomedAt = performance.now();
        this.draw();
    }

    // --- drawing

    draw(): void {
        cancelAnimationFrame(this.asked);
        this.asked = requestAnimationFrame(() => this.paint());
    }

    private get height(): number {
        return this.depths * kRow;
    }

    // Rows in which something is wide enough to be seen: a single sample's chain of a hundred frames is not worth the
    // room.
    private visibleDepths(width: number): number {
        const { layout } = this;
        if (layout === null) return 1;
        const view = this.view();
        const least = (kWorthARow * (view.to - view.from)) / width;
        let deepest = view.depth;
        for (let depth = view.depth; depth < layout.rows.length; ++depth) {
            const row = layout.rows[depth] ?? new Uint32Array();
            let seen = false;
            for (let i = firstAfter(layout, row, view.from); !seen && i < row.length; ++i) {
                const node = row[i] ?? 0;
                if ((layout.left[node] ?? 0) >= view.to) break;
                seen = (layout.weight[node] ?? 0) >= least;
            }
            if (!seen) break;
            deepest = depth;
        }
        return deepest + 1;
    }

    private top(depth: number): number {
        return this.icicle ? depth * kRow : this.height - (depth + 1) * kRow;
    }

    private view(): { from: number; to: number; depth: number } {
        const { layout, zoomed } = this;
        if (layout === null) return { from: 0, to: 1, depth: 0 };
        return { from: layout.left[zoomed] ?? 0, to: rightOf(layout, zoomed), depth: layout.depth[zoomed] ?? 0 };
    }

    private paint(): void {
        const { layout, canvas } = this;
        const width = this.element.clientWidth;
        const context = canvas.getContext('2d');
        if (layout === null || width === 0 || context === null) return;
        const scale = devicePixelRatio || 1;
        this.depths = this.visibleDepths(width);
        const { height } = this;
        canvas.width = Math.round(width * scale);
        canvas.height = Math.round(height * scale);
        canvas.style.setProperty('width', `${width}px`);
        canvas.style.setProperty('height', `${height}px`);
        context.setTransform(scale, 0, 0, scale, 0, 0);
        context.clearRect(0, 0, width, height);
        context.font = kFont;
        context.textBaseline = 'middle';
        this.letter = context.measureText('0').width || this.letter;
        const view = this.view();
        for (let depth = 0; depth < this.depths; ++depth) this.paintRow(context, depth, view, width);
        this.paintPointed(context, view, width);
        this.onPainted?.();
        this.onPainted = null;
        if (this.zoomedAt !== null) performance.measure('zoom', { start: this.zoomedAt });
        this.zoomedAt = null;
        if (this.placed) return;
        this.placed = true;
        this.element.scrollTop = this.icicle ? 0 : height;
    }

    private paintRow(
        context: CanvasRenderingContext2D,
        depth: number,
        view: { from: number; to: number; depth: number },
        width: number,
    ): void {
        const { layout } = this;
        const row = layout?.rows[depth];
        if (layout === null || row === undefined) return;
        const kx = width / (view.to - view.from || 1);
        const y = this.top(depth);
        const faded = depth < view.depth;
        let narrowFrom = -1;
        let narrowTo = -1;
        const flush = (): void => {
            if (narrowFrom < 0) return;
            context.globalAlpha = 1;
            context.fillStyle = '#b8b2a8';
            context.fillRect(narrowFrom, y, Math.max(narrowTo - narrowFrom, 0.5), kRow - 1);
            narrowFrom = -1;
        };
        for (let i = firstAfter(layout, row, view.from); i < row.length; ++i) {
            const node = row[i] ?? 0;
            const left = layout.left[node] ?? 0;
            if (left >= view.to) break;
            const x0 = Math.max(0, (left - view.from) * kx);
            const x1 = Math.min(width, (rightOf(layout, node) - view.from) * kx);
            if (x1 - x0 < kNarrow) {
                if (narrowFrom < 0 || x0 > narrowTo + 0.5) {
                    flush();
                    narrowFrom = x0;
                }
                narrowTo = x1;
                continue;
            }
            flush();
            this.paintFrame(context, node, x0, x1, y, faded);
        }
        flush();
    }

    private paintFrame(
        context: CanvasRenderingContext2D,
        node: number,
        x0: number,
        x1: number,
        y: number,
        faded: boolean,
    ): void {
        const name = this.layout?.tree.name[node] ?? 0;
        const found = this.matches !== null && name >= 0 && this.matches[name] === 1;
        context.globalAlpha = faded || (this.matches !== null && !found) ? kFade : 1;
        context.fillStyle = found ? kMatch : (this.colours[node] ?? '#ccc');
        const space = x1 - x0 > 3 ? 1 : 0;
        context.fillRect(x0, y, x1 - x0 - space, kRow - 1);
        const letters = Math.floor((x1 - x0 - 2 * kPadding) / this.letter);
        if (letters < 3) return;
        let text = this.textOf(node);
        if (text.length > letters) text = `${text.slice(0, letters - 1)}…`;
        context.globalAlpha = faded ? 0.8 : 1;
        context.fillStyle = found ? '#fff' : this.matches !== null || faded ? this.ink() : '#111';
        context.fillText(text, x0 + kPadding, y + kRow / 2);
    }

    // Over a faded colour the page's own ink is what can be read.
    private ink(): string {
        return getComputedStyle(this.element).color;
    }

    private paintPointed(context: CanvasRenderingContext2D, view: { from: number; to: number }, width: number): void {
        const place = this.pointed === null ? null : this.placeOf(this.pointed, view, width);
        if (place === null) return;
        context.globalAlpha = 1;
        context.strokeStyle = this.ink();
        context.lineWidth = 2;
        context.strokeRect(place.x + 1, place.y + 1, Math.max(place.width - 2, 1), kRow - 3);
    }

    private placeOf(node: number, view: { from: number; to: number }, width: number): DOMRect | null {
        const { layout } = this;
        if (layout === null) return null;
        const kx = width / (view.to - view.from || 1);
        const x0 = Math.max(0, ((layout.left[node] ?? 0) - view.from) * kx);
        const x1 = Math.min(width, (rightOf(layout, node) - view.from) * kx);
        return x1 < x0 ? null : new DOMRect(x0, this.top(layout.depth[node] ?? 0), x1 - x0, kRow);
    }

    textOf(node: number): string {
        const { layout } = this;
        if (layout === null) return '';
        if (this.options.text) return this.options.text(node);
        const name = layout.tree.name[node] ?? -1;
        return name < 0 ? 'all' : (layout.tree.names[name]?.text ?? '');
    }

    // --- pointing

    private under(event: MouseEvent): number | null {
        const { layout } = this;
        const box = this.canvas.getBoundingClientRect();
        if (layout === null || box.width === 0) return null;
        const y = event.clientY - box.top;
        const depth = Math.floor((this.icicle ? y : this.height - y) / kRow);
        const view = this.view();
        return nodeAt(layout, depth, view.from + ((event.clientX - box.left) / box.width) * (view.to - view.from));
    }

    private point(node: number | null, event?: MouseEvent): void {
        const changed = node !== this.pointed;
        this.pointed = node;
        if (changed) this.draw();
        if (!changed && event === undefined) return;
        const box = this.canvas.getBoundingClientRect();
        const place = node === null ? null : this.placeOf(node, this.view(), box.width);
        const shown =
            event !== undefined
                ? new DOMRect(event.clientX, event.clientY, 0, kRow)
                : place && new DOMRect(box.left + place.x, box.top + place.y, place.width, kRow);
        this.options.onPoint?.(node, shown);
    }

    private click(event: MouseEvent): void {
        const node = this.under(event);
        if (node !== null) this.zoomTo(node);
    }

    private zoomTo(node: number): void {
        this.zoom(node);
        this.options.onZoom?.(node);
    }

    private key(event: KeyboardEvent): void {
        const { layout } = this;
        if (layout === null || event.ctrlKey || event.metaKey || event.altKey) return;
        const at = this.pointed ?? this.zoomed;
        const up = this.icicle ? 'ArrowDown' : 'ArrowUp'; // towards callees
        const down = this.icicle ? 'ArrowUp' : 'ArrowDown';
        let to: number | null = null;
        if (event.key === up) to = layout.children[at]?.find((child) => (layout.weight[child] ?? 0) > 0) ?? at;
        else if (event.key === down) to = at === 0 ? 0 : (layout.tree.parent[at] ?? 0);
        else if (event.key === 'ArrowLeft' || event.key === 'ArrowRight') {
            const siblings = layout.children[layout.tree.parent[at] ?? 0] ?? [];
            to = siblings[siblings.indexOf(at) + (event.key === 'ArrowLeft' ? -1 : 1)] ?? at;
        } else if (event.key === 'Home') to = 0;
        else if (event.key === 'Enter' || event.key === ' ') this.zoomTo(at);
        else if (event.key === 'Escape') this.zoomTo(0);
        else if (event.key === 's' && at > 0) this.options.onMenu?.(at);
        else return;
        event.preventDefault();
        if (to === null) return;
        this.point(to);
        this.keepInSight(to);
    }

    private keepInSight(node: number): void {
        const y = this.top(this.layout?.depth[node] ?? 0);
        const box = this.element;
        if (y < box.scrollTop) box.scrollTop = y;
        else if (y + kRow > box.scrollTop + box.clientHeight) box.scrollTop = y + kRow - box.clientHeight;
    }
}
