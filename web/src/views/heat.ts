// SPDX-License-Identifier: GPL-2.0-or-later
// When exactly CPUs were busy: seconds from left to right, the parts of each second from bottom to top. A dragged stretch
// becomes the flame graph of just that time. From raw captures, as long as they are kept.
import { ApiError, getJson, nanoseconds } from '../api.js';
import { h, replace, type Child } from '../dom.js';
import { clock, isoTime } from '../format.js';
import { evenRows, heatColour, HeatGrid, type Heat } from '../heat_grid.js';
import type { Live } from '../live.js';
import { card, empty, Loader, select } from '../parts.js';
import { rangeOf, rangeParams, type Range } from '../profile/source.js';
import { address, change, go } from '../route.js';
import { Timeline } from '../timeline.js';
import type { View } from '../view.js';

const kLongest = 600e3; // ms
const kDefault = 120e3;

function scaleLegend(): HTMLElement {
    return h(
        'div',
        { class: 'legend' },
        h('span', {}, 'idle '),
        h(
            'span',
            {},
            ...[0.05, 0.25, 0.5, 0.75, 1].map((share) =>
                h('span', {
                    class: 'chip',
                    style: { background: `rgb(${heatColour(share).join(',')})`, 'margin-right': '2px' },
                }),
            ),
        ),
        h('span', {}, 'every CPU busy'),
        h('span', {}, 'bottom to top: the parts of a second; left to right: seconds'),
    );
}

export function heatView(live: Live): View {
    const timeline = new Timeline(
        'Busy share of the host over time; drag to choose what the heat map shows',
        (range) => {
            const to = Math.min(range.to, range.from + kLongest);
            change(rangeParams({ from: range.from, to }));
        },
    );
    const place = h('div');
    const loader = new Loader(place);
    const element = h(
        'div',
        { class: 'grid' },
        card('w12', 'When', 'at most ten minutes at a time', timeline.element),
        h('div', { class: 'card' }, place),
    );
    let grid: HeatGrid | null = null;
    let shownKey = '';
    let end: (() => void) | null = null;

    async function load(range: Range, rows: string, signal: AbortSignal): Promise<Child[]> {
        let heat: Heat;
        const query = `since=${nanoseconds(range.from)}&until=${nanoseconds(range.to)}${rows === '' ? '' : `&rows=${rows}`}`;
        try {
            heat = await getJson<Heat>(`/v1/raw/heat?${query}`, signal);
        } catch (error) {
            if (!(error instanceof ApiError) || error.status !== 404) throw error;
            return [
                empty(
                    'No raw capture holds that time.',
                    error.message,
                    ' ',
                    h('a', { attributes: { href: address('captures') } }, 'What is kept'),
                ),
            ];
        }
        grid?.close();
        grid = new HeatGrid(heat, (chosen) =>
            go(
                address('flame', {
                    from: isoTime(chosen.from),
                    to: isoTime(chosen.to),
                    raw: 'true',
                    event: heat.event,
                }),
            ),
        );
        return [
            h(
                'header',
                { class: 'heading' },
                h('h2', {}, 'Busy by the part of the second'),
                h('span', {}, `${clock(range.from)} – ${clock(range.to)}`),
                h(
                    'span',
                    { class: 'soft' },
                    `${heat.event}, ${Math.round(heat.frequency_hertz)} Hz, ${Math.max(...heat.columns.map((c) => c.cpus))} CPUs`,
                ),
            ),
            h(
                'div',
                { class: 'bar' },
                select(
                    'parts of a second',
                    [...new Set([...evenRows(heat.frequency_hertz), String(heat.rows)])].map((value) => ({
                        value,
                        text: value,
                    })),
                    String(heat.rows),
                    (value) => change({ rows: value }),
                ),
                h(
                    'button',
                    {
                        attributes: { type: 'button' },
                        on: {
                            click: () => {
                                shownKey = '';
                                change({ from: null, to: null });
                            },
                        },
                    },
                    'newest',
                ),
            ),
            grid.element,
            scaleLegend(),
        ];
    }

    function start(range: Range, rows: string): void {
        timeline.mark([{ range }]);
        void loader.run('Reading raw captures.', (signal) => load(range, rows, signal)).then(() => grid?.paint());
    }

    return {
        title: 'Heat map',
        element,
        update: (params) => {
            timeline.update(params);
            const range = rangeOf(params);
            const wanted = params.get('rows') ?? '';
            const rows = /^\d{1,3}$/.test(wanted) ? wanted : '';
            const key = JSON.stringify([range, rows]);
            if (key === shownKey) return;
            shownKey = key;
            end?.();
            end = null;
            if (range !== null) {
                if (range.to - range.from > kLongest)
                    replace(place, empty('That is more than ten minutes.', 'Drag over a shorter stretch.'));
                else start(range, rows);
                return;
            }
            // The last two minutes, as the daemon's clock has it.
            let started = false;
            end = live.listen(() => {
                const newest = live.newest;
                if (started || newest === undefined) return;
                started = true;
                const to = Math.floor(Date.parse(newest.end) / 1000) * 1000;
                start({ from: to - kDefault, to }, rows);
            });
        },
        repaint: () => {
            timeline.repaint();
            grid?.paint();
        },
        close: () => {
            end?.();
            loader.stop();
            timeline.close();
            grid?.close();
        },
    };
}
