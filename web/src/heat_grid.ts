// SPDX-License-Identifier: GPL-2.0-or-later
// The heat map itself: a canvas of cells, by mouse and by keyboard.
import { h } from './dom.js';
import { clock, percent, seconds } from './format.js';
import { tip } from './parts.js';
import type { Range } from './profile/source.js';
import { colour } from './theme.js';

export interface Heat {
    start: string;
    rows: number;
    frequency_hertz: number;
    event: string;
    columns: { cpus: number; busy: number[] }[];
}

const kHeight = 400;

// 0 … 1 to a colour: the ground, yellow, orange, dark red.
const kScale: [number, number, number][] = [
    [250, 220, 120],
    [240, 150, 60],
    [205, 60, 45],
    [120, 15, 50],
];

export function heatColour(share: number): [number, number, number] {
    const at = Math.max(0, Math.min(1, share)) * (kScale.length - 1);
    const low = Math.min(Math.floor(at), kScale.length - 2);
    const [a, b] = [kScale[low] ?? [0, 0, 0], kScale[low + 1] ?? [0, 0, 0]];
    const part = at - low;
    return [0, 1, 2].map((i) => Math.round((a[i] ?? 0) + ((b[i] ?? 0) - (a[i] ?? 0)) * part)) as [
        number,
        number,
        number,
    ];
}

// The numbers of parts that all get as many ticks of the clock.
export function evenRows(hertz: number): string[] {
    const ticks = Math.round(hertz);
    const found = [];
    for (let rows = 5; rows <= 100; ++rows) if (ticks % rows === 0) found.push(String(rows));
    return found;
}

// Cells are numbered in the order of time: column by column, rows within.
export class HeatGrid {
    readonly element: HTMLElement;
    private readonly canvas: HTMLCanvasElement;
    private readonly said = h('div', { class: 'pointed', attributes: { role: 'status', 'aria-live': 'polite' } });
    private cursor: number | null = null;
    private anchor: number | null = null;
    private dragging = false;
    private shownTip: HTMLElement | null = null;
    private readonly observer: ResizeObserver;

    constructor(
        private readonly heat: Heat,
        private readonly onChoose: (range: Range) => void,
    ) {
        this.canvas = h('canvas', {
            attributes: {
                tabindex: 0,
                role: 'application',
                'aria-roledescription': 'heat map',
                'aria-label':
                    'Heat map of busy CPUs. Arrow keys walk in time, with Shift they choose a stretch, Enter shows its flame graph.',
            },
            on: {
                pointerdown: (event: PointerEvent) => this.down(event),
                pointermove: (event: PointerEvent) => this.move(event),
                pointerup: (event: PointerEvent) => this.up(event),
                pointerleave: () => this.hideTip(),
                keydown: (event: KeyboardEvent) => this.key(event),
                blur: () => this.hideTip(),
            },
        });
        this.said.textContent = this.rest();
        this.element = h('div', {}, this.said, h('div', { class: 'heat' }, this.canvas));
        this.observer = new ResizeObserver(() => this.paint());
        this.observer.observe(this.element);
    }

    close(): void {
        this.hideTip();
        this.observer.disconnect();
    }

    private rest(): string {
        return 'Drag from one moment to another to see the flame graph of just that time.';
    }

    private get cells(): number {
        return this.heat.columns.length * this.heat.rows;
    }

    // Of the samples that fully busy CPUs would have brought.
    private share(cell: number): number | null {
        const { rows, columns, frequency_hertz: hertz } = this.heat;
        const column = columns[Math.floor(cell / rows)];
        if (column === undefined || column.cpus === 0) return null;
        return (column.busy[cell % rows] ?? 0) / (((hertz || 99) * column.cpus) / rows);
    }

    private startOf(cell: number): number {
        return Date.parse(this.heat.start) + (cell * 1000) / this.heat.rows;
    }

    paint(): void {
        const { rows, columns } = this.heat;
        const width = Math.max(this.element.clientWidth, columns.length * 2);
        const context = this.canvas.getContext('2d');
        if (context === null || width === 0) return;
        const scale = devicePixelRatio || 1;
        this.canvas.width = Math.round(width * scale);
        this.canvas.height = Math.round(kHeight * scale);
        this.canvas.style.setProperty('width', `${width}px`);
        this.canvas.style.setProperty('height', `${kHeight}px`);
        context.setTransform(scale, 0, 0, scale, 0, 0);
        context.fillStyle = colour('ground');
        context.fillRect(0, 0, width, kHeight);
        const w = width / columns.length;
        const high = kHeight / rows;
        const gap = w > 4 ? 0.5 : 0;
        const [low, top] = this.chosen();
        for (let cell = 0; cell < this.cells; ++cell) {
            const share = this.share(cell);
            if (share === null) continue;
            const x = Math.floor(cell / rows) * w;
            const y = kHeight - ((cell % rows) + 1) * high;
            const inside = cell >= low && cell <= top;
            context.fillStyle = share === 0 ? colour('idle') : `rgb(${heatColour(share).join(',')})`;
            context.fillRect(x, y, w - gap, high - (high > 4 ? 0.5 : 0));
            if (inside) {
                context.globalAlpha = 0.55;
                context.fillStyle = colour('line');
                context.fillRect(x, y, w - gap, high);
                context.globalAlpha = 1;
            }
        }
        if (this.cursor === null) return;
        context.strokeStyle = colour('ink');
        context.lineWidth = 2;
        context.strokeRect(
            Math.floor(this.cursor / rows) * w,
            kHeight - ((this.cursor % rows) + 1) * high,
            Math.max(w - gap, 2),
            high,
        );
    }

    private chosen(): [number, number] {
        if (this.cursor === null || this.anchor === null) return [-1, -2];
        return [Math.min(this.cursor, this.anchor), Math.max(this.cursor, this.anchor)];
    }

    private under(event: PointerEvent): number {
        const { rows, columns } = this.heat;
        const box = this.canvas.getBoundingClientRect();
        const column = Math.max(
            0,
            Math.min(columns.length - 1, Math.floor(((event.clientX - box.left) / box.width) * columns.length)),
        );
        const row = Math.max(0, Math.min(rows - 1, Math.floor((1 - (event.clientY - box.top) / box.height) * rows)));
        return column * rows + row;
    }

    private describe(cell: number): string {
        const at = this.startOf(cell);
        const part = 1000 / this.heat.rows;
        const share = this.share(cell);
        const count = this.heat.columns[Math.floor(cell / this.heat.rows)]?.busy[cell % this.heat.rows] ?? 0;
        const when = `${clock(at)}.${String(Math.round(at % 1000)).padStart(3, '0')}, ${Math.round(part)} ms`;
        return share === null
            ? `${when}: nothing is kept`
            : `${when}: ${count} samples of tasks, ${percent(Math.min(share, 1), 0)} busy`;
    }

    private tell(place: DOMRect | null): void {
        const [low, top] = this.chosen();
        const lines: string[] = [];
        if (this.cursor !== null) lines.push(this.describe(this.cursor));
        if (top > low) lines.push(`${seconds((top - low + 1) / this.heat.rows)} chosen`);
        this.said.textContent = lines.join('; ') || this.rest();
        this.hideTip();
        if (place !== null && lines.length > 0)
            this.shownTip = tip(
                lines.map((line) => h('div', {}, line)),
                place,
            );
        this.paint();
    }

    private hideTip(): void {
        this.shownTip?.remove();
        this.shownTip = null;
    }

    private down(event: PointerEvent): void {
        this.dragging = true;
        this.canvas.setPointerCapture(event.pointerId);
        this.cursor = this.anchor = this.under(event);
        this.tell(null);
    }

    private move(event: PointerEvent): void {
        this.cursor = this.under(event);
        if (!this.dragging) this.anchor = null;
        this.tell(new DOMRect(event.clientX, event.clientY, 0, 12));
    }

    private up(event: PointerEvent): void {
        if (!this.dragging) return;
        this.dragging = false;
        this.cursor = this.under(event);
        this.choose();
    }

    private choose(): void {
        this.hideTip();
        if (this.anchor === null) this.anchor = this.cursor;
        const [low, top] = this.chosen();
        if (top < low) return;
        this.onChoose({ from: this.startOf(low), to: this.startOf(top + 1) });
    }

    private key(event: KeyboardEvent): void {
        const { rows } = this.heat;
        const steps: Record<string, number> = { ArrowUp: 1, ArrowDown: -1, ArrowRight: rows, ArrowLeft: -rows };
        const step = steps[event.key];
        if (event.key === 'Enter' && this.cursor !== null) {
            event.preventDefault();
            return this.choose();
        }
        if (event.key === 'Escape') this.anchor = null;
        else if (step === undefined) return;
        event.preventDefault();
        const from = this.cursor ?? Math.max(0, this.cells - rows);
        if (event.shiftKey) this.anchor ??= from;
        else this.anchor = null;
        this.cursor = Math.max(0, Math.min(this.cells - 1, from + (step ?? 0)));
        this.tell(null);
    }
}
