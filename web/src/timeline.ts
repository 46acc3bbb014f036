// SPDX-License-Identifier: GPL-2.0-or-later
// What the daemon keeps, as busy over time, to choose a stretch from: drag, or take one of the buttons.
import { newestWindows, windowsBetween, type StoredWindow } from './api.js';
import { Chart } from './chart.js';
import { h, replace } from './dom.js';
import { span } from './format.js';
import { choice } from './parts.js';
import { change } from './route.js';
import { colour } from './theme.js';
import type { Range } from './profile/source.js';

const kSpans: { value: string; text: string; ms: number }[] = [
    { value: '30m', text: '30 min', ms: 30 * 60e3 },
    { value: '6h', text: '6 h', ms: 6 * 3600e3 },
    { value: '1d', text: '1 d', ms: 86400e3 },
    { value: '7d', text: '7 d', ms: 7 * 86400e3 },
    { value: '90d', text: '90 d', ms: 90 * 86400e3 },
];
const kRefresh = 30_000;

export interface Marked {
    range: Range;
    colour?: string; // of style.css
}

export class Timeline {
    readonly element: HTMLElement;
    private readonly chart: Chart;
    private readonly buttons = h('div');
    private readonly said = h('span', { class: 'soft' });
    private windows: StoredWindow[] = [];
    private marked: Marked[] = [];
    private readonly timer: number;
    private shownSpan = '';

    constructor(label: string, onSelect: (range: Range) => void) {
        this.chart = new Chart({
            height: 120,
            label,
            steps: true,
            onSelect: (from, to) => onSelect({ from, to }),
            selected: () =>
                this.marked.map(({ range, colour: name }) => ({ ...range, ...(name ? { colour: colour(name) } : {}) })),
        });
        this.element = h('div', {}, h('div', { class: 'bar' }, this.buttons, this.said), this.chart.element);
        this.timer = window.setInterval(() => void this.refresh(), kRefresh);
    }

    close(): void {
        clearInterval(this.timer);
        this.chart.close();
    }

    repaint(): void {
        this.chart.repaint();
    }

    mark(marked: Marked[]): void {
        this.marked = marked;
        this.chart.redraw();
    }

    update(params: URLSearchParams): void {
        const wanted = kSpans.find((one) => one.value === params.get('span')) ?? kSpans[0];
        if (wanted === undefined || wanted.value === this.shownSpan) return;
        this.shownSpan = wanted.value;
        replace(
            this.buttons,
            choice('how far back', kSpans, wanted.value, (value) => change({ span: value })),
        );
        void this.refresh();
    }

    private async refresh(): Promise<void> {
        if (document.hidden) return;
        const wanted = kSpans.find((one) => one.value === this.shownSpan);
        if (wanted === undefined) return;
        try {
            // The newest window's end, not the browser's clock: hosts and replays have times of their own.
            const [newest] = await newestWindows(1, 'window');
            const to = newest === undefined ? Date.now() : Date.parse(newest.end);
            this.windows = await windowsBetween(to - wanted.ms, to);
        } catch {
            return; // the view itself says what is wrong
        }
        if (wanted.value === this.shownSpan) this.draw();
    }

    private draw(): void {
        const times: number[] = [];
        const values: (number | null)[] = [];
        let last = 0;
        for (const window of this.windows) {
            const start = Date.parse(window.start) / 1000;
            const end = Date.parse(window.end) / 1000;
            // A gap is drawn as one.
            if (start > last + 1) {
                times.push(start);
                values.push(null);
            }
            times.push(end);
            values.push(window.busy ?? null);
            last = end;
        }
        const [first] = this.windows;
        const newest = this.windows.at(-1);
        this.said.textContent =
            first === undefined || newest === undefined
                ? 'No window is complete yet.'
                : `${span(Date.parse(first.start), Date.parse(newest.end))}: drag to choose`;
        this.chart.show({ times, busy: { values } });
    }
}
