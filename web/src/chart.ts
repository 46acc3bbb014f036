// SPDX-License-Identifier: GPL-2.0-or-later
// Shares over time: the modes of a host stacked, busy with its interval, and small ones without axes. uPlot draws.
import uPlot from 'uplot';
import { h } from './dom.js';
import { clock, dateAndClock, percent } from './format.js';
import { colour } from './theme.js';

export interface Band {
    colour: string; // of style.css
    label: string;
    values: (number | null)[];
}

export interface ChartData {
    times: number[]; // seconds since 1970
    stacked?: Band[];
    busy?: { values: (number | null)[]; low?: (number | null)[]; high?: (number | null)[] };
}

export interface ChartOptions {
    height: number;
    label: string;
    onSelect?: (from: number, to: number) => void; // ms since 1970
    selected?: () => { from: number; to: number; colour?: string }[];
    steps?: boolean; // values hold for the whole stretch before them
}

const zeroes = (n: number): (number | null)[] => new Array<number | null>(n).fill(0);

export class Chart {
    readonly element: HTMLElement;
    private plot: uPlot | null = null;
    private data: ChartData = { times: [] };
    private shape = '';
    private readonly observer: ResizeObserver;

    constructor(private readonly options: ChartOptions) {
        this.element = h('div', { class: 'chart', attributes: { role: 'img', 'aria-label': options.label } });
        this.element.style.setProperty('min-height', `${options.height}px`);
        this.observer = new ResizeObserver(() => {
            const width = this.element.clientWidth;
            if (this.plot !== null && width > 0 && width !== this.plot.width) {
                this.plot.setSize({ width, height: options.height });
            }
        });
        this.observer.observe(this.element);
    }

    close(): void {
        this.observer.disconnect();
        this.plot?.destroy();
    }

    show(data: ChartData): void {
        this.data = data;
        const columns = this.columns();
        const shape = `${data.stacked?.length ?? 0} ${data.busy ? 1 : 0} ${data.busy?.low ? 1 : 0}`;
        if (this.plot !== null && shape === this.shape) this.plot.setData(columns);
        else this.make(columns, shape);
    }

    repaint(): void {
        if (this.plot !== null) this.make(this.columns(), this.shape);
    }

    redraw(): void {
        this.plot?.redraw(false);
    }

    private columns(): uPlot.AlignedData {
        const { times, stacked = [], busy } = this.data;
        const columns: (number | null)[][] = [];
        let below = zeroes(times.length);
        for (const band of stacked) {
            below = below.map((value, i) => (value ?? 0) + (band.values[i] ?? 0));
            columns.push(below);
        }
        if (busy?.low && busy.high) columns.push(busy.low, busy.high);
        if (busy) columns.push(busy.values);
        return [times, ...columns] as uPlot.AlignedData;
    }

    private make(columns: uPlot.AlignedData, shape: string): void {
        this.plot?.destroy();
        this.shape = shape;
        const { stacked = [], busy } = this.data;
        const series: uPlot.Series[] = [{}];
        const bands: uPlot.Band[] = [];
        const paths = this.options.steps ? { paths: uPlot.paths.stepped?.({ align: -1 }) } : {};
        stacked.forEach((band, i) => {
            series.push({
                label: band.label,
                fill: colour(band.colour),
                width: 0,
                points: { show: false },
                ...paths,
            } as uPlot.Series);
            if (i > 0) bands.push({ series: [i + 1, i], fill: colour(band.colour) });
        });
        if (busy?.low && busy.high) {
            const at = series.length;
            series.push({ width: 0, points: { show: false }, ...paths } as uPlot.Series);
            series.push({ width: 0, points: { show: false }, ...paths } as uPlot.Series);
            bands.push({ series: [at + 1, at], fill: colour('band') });
        }
        if (busy) {
            series.push({
                label: 'busy',
                stroke: colour(stacked.length > 0 ? 'ink' : 'line'),
                width: 1.5,
                points: { show: false },
                ...paths,
            } as uPlot.Series);
        }
        const axis = {
            stroke: colour('soft'),
            grid: { stroke: colour('grid'), width: 1 },
            ticks: { stroke: colour('grid'), width: 1 },
            font: '11px system-ui, sans-serif',
        };
        this.plot = new uPlot(
            {
                width: Math.max(this.element.clientWidth, 200),
                height: this.options.height,
                series,
                bands,
                legend: { show: false },
                cursor: {
                    drag: { x: this.options.onSelect !== undefined, y: false, setScale: false },
                    points: { show: false },
                },
                scales: {
                    x: { time: true },
                    y: { range: (_, __, max) => [0, Math.max(0.05, Math.min(1, (max ?? 1) * 1.1))] },
                },
                axes: [
                    { ...axis, values: (_, splits) => this.ticks(splits), space: 70, size: 26 },
                    { ...axis, values: (_, splits) => splits.map((v) => `${Math.round(v * 100)} %`), size: 48 },
                ],
                hooks: { setSelect: [(u: uPlot) => this.select(u)], draw: [(u: uPlot) => this.drawSelected(u)] },
            },
            columns,
            this.element,
        );
    }

    private ticks(splits: number[]): string[] {
        const step = (splits[1] ?? 0) - (splits[0] ?? 0);
        return splits.map((s) =>
            step >= 86400 ? dateAndClock(s * 1000).slice(5, 10) : clock(s * 1000).slice(0, step < 60 ? 8 : 5),
        );
    }

    private select(plot: uPlot): void {
        if (plot.select.width < 3) return;
        const from = plot.posToVal(plot.select.left, 'x') * 1000;
        const to = plot.posToVal(plot.select.left + plot.select.width, 'x') * 1000;
        plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
        this.options.onSelect?.(from, to);
    }

    private drawSelected(plot: uPlot): void {
        const context = plot.ctx;
        for (const { from, to, colour: of } of this.options.selected?.() ?? []) {
            const x0 = Math.max(plot.bbox.left, plot.valToPos(from / 1000, 'x', true));
            const x1 = Math.min(plot.bbox.left + plot.bbox.width, plot.valToPos(to / 1000, 'x', true));
            if (x1 < x0) continue;
            context.save();
            context.fillStyle = of ?? colour('line');
            context.globalAlpha = 0.2;
            context.fillRect(x0, plot.bbox.top, Math.max(x1 - x0, 2), plot.bbox.height);
            context.globalAlpha = 1;
            context.fillRect(x0, plot.bbox.top, Math.max(x1 - x0, 2), 3 * devicePixelRatio);
            context.restore();
        }
    }
}

function prepared(
    canvas: HTMLCanvasElement,
): { context: CanvasRenderingContext2D; width: number; height: number } | null {
    const width = canvas.clientWidth;
    const height = canvas.clientHeight;
    const context = canvas.getContext('2d');
    if (context === null || width === 0) return null;
    const scale = devicePixelRatio || 1;
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.clearRect(0, 0, width, height);
    return { context, width, height };
}

// A line from old to new, the newest at the right edge; `room` values fill the width.
export function sparkline(canvas: HTMLCanvasElement, values: number[], room: number, top: number): void {
    const ready = prepared(canvas);
    if (ready === null) return;
    const { context, width, height } = ready;
    const x = (i: number): number => width - 1 - ((values.length - 1 - i) * (width - 2)) / Math.max(room - 1, 1);
    const y = (value: number): number => height - 1.5 - (value / (top || 1)) * (height - 3);
    context.beginPath();
    values.forEach((value, i) => (i === 0 ? context.moveTo(x(i), y(value)) : context.lineTo(x(i), y(value))));
    context.strokeStyle = colour('line');
    context.lineWidth = 1.3;
    context.stroke();
    context.lineTo(x(values.length - 1), height);
    context.lineTo(x(0), height);
    context.fillStyle = colour('band');
    context.fill();
}

export interface BusyPoint {
    busy: number;
    low: number;
    high: number;
}

// Busy from 0 to 1 with its interval; null: not known.
export function busyStrip(canvas: HTMLCanvasElement, points: (BusyPoint | null)[], room: number): void {
    const ready = prepared(canvas);
    if (ready === null) return;
    const { context, width, height } = ready;
    const x = (i: number): number => width - 1 - ((points.length - 1 - i) * (width - 2)) / Math.max(room - 1, 1);
    const y = (value: number): number => height - 1 - Math.min(value, 1) * (height - 2);
    context.fillStyle = colour('idle');
    context.globalAlpha = 0.5;
    context.fillRect(0, 0, width, height);
    context.globalAlpha = 1;
    const step = width / Math.max(room - 1, 1);
    context.fillStyle = colour('band');
    points.forEach((p, i) => {
        if (p !== null) context.fillRect(x(i) - step / 2, y(p.high), step + 0.5, Math.max(y(p.low) - y(p.high), 1));
    });
    context.strokeStyle = colour('line');
    context.lineWidth = 1.4;
    context.beginPath();
    let down = false;
    points.forEach((p, i) => {
        if (p !== null) {
            if (down) context.lineTo(x(i), y(p.busy));
            else context.moveTo(x(i), y(p.busy));
        }
        down = p !== null;
    });
    context.stroke();
}

export const intervalText = (p: BusyPoint): string => `${percent(p.busy)} (${percent(p.low)} to ${percent(p.high)})`;
