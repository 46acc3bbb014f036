// SPDX-License-Identifier: GPL-2.0-or-later
// What happens now: follows the daemon slice by slice.
import { busyStrip, Chart, intervalText, sparkline, type BusyPoint } from '../chart.js';
import { h, replace } from '../dom.js';
import { baseName, clock, percent, seconds } from '../format.js';
import type { Busy, Live, Modes, Slice } from '../live.js';
import { card, chip, empty, troubleOf, waiting } from '../parts.js';
import { colourOf, kindOfNamed } from '../profile/kind.js';
import { kNoUnit } from '../profile/tree.js';
import { rank } from '../ranking.js';
import { address } from '../route.js';
import type { View } from '../view.js';
import { ApiError } from '../api.js';
import { costCard, degradedCard, ledgerCard } from './health.js';

const kShown = 120; // slices of history in charts
const kRows = 20;
const kMostCpus = 128;

const kModes: { mode: keyof Modes; label: string }[] = [
    { mode: 'user', label: 'user' },
    { mode: 'kernel', label: 'kernel' },
    { mode: 'softirq', label: 'softirq' },
    { mode: 'stolen', label: 'stolen' },
    { mode: 'unknown', label: 'unknown' },
];

const pointOf = (b: Busy | undefined): BusyPoint | null =>
    b?.busy === undefined ? null : { busy: b.busy, low: b.busy_low ?? b.busy, high: b.busy_high ?? b.busy };

function splitBar(modes: Modes, total: number): HTMLElement {
    const parts = kModes.map(({ mode, label }) => `${label} ${percent(modes[mode] / (total || 1))}`).join(', ');
    return h(
        'div',
        { class: 'split', title: parts },
        ...kModes.map(({ mode }) =>
            h('span', {
                style: { width: `${(modes[mode] / (total || 1)) * 100}%`, background: `var(--${mode})` },
            }),
        ),
    );
}

function reasonText(reason: string | undefined): string {
    return reason === undefined ? '' : ` – ${reason.replaceAll('_', ' ')}`;
}

export function nowView(live: Live): View {
    const host = h('div', { class: 'soft' });
    const chart = new Chart({
        height: 190,
        label: 'Share of the host’s CPU time by mode over the last minutes; drag to see a flame graph of that time',
        onSelect: (from, to) =>
            (location.hash = address('flame', {
                from: new Date(from).toISOString(),
                to: new Date(to).toISOString(),
            })),
    });
    const busyFigure = h('div', { class: 'figure' });
    const cpus = h('div', { class: 'cpus' });
    const cpuCard = card('w5', 'Busy per CPU', 'share of time, with its 95 % interval', cpus);
    const functions = h('tbody');
    const functionCount = h('span', { class: 'soft' });
    const units = h('tbody');
    const health = h('div', { class: 'card' });
    const cost = h('div', { class: 'card' });
    const degraded = h('div', { class: 'card' });
    const trouble = h('div');

    const legend = h(
        'div',
        { class: 'legend' },
        ...kModes.map(({ mode, label }) => h('span', {}, chip(`var(--${mode})`), label)),
        h('span', {}, '— busy, with its interval'),
    );

    const unitCard = card(
        '',
        'Units',
        'by what they took in the last minute',
        h(
            'div',
            { class: 'scroll', attributes: { tabindex: 0, role: 'region', 'aria-label': 'units' } },
            h(
                'table',
                {},
                h(
                    'thead',
                    {},
                    h(
                        'tr',
                        {},
                        h('th', { attributes: { scope: 'col' } }, 'unit'),
                        h('th', { class: 'num', attributes: { scope: 'col' } }, 'now'),
                        h('th', { class: 'num', attributes: { scope: 'col' } }, 'CPUs'),
                    ),
                ),
                units,
            ),
        ),
    );
    const grid = h(
        'div',
        { class: 'grid' },
        card('w7', 'CPU time of this host', host, busyFigure, chart.element, legend),
        cpuCard,
        card(
            'w8',
            'Hottest functions',
            functionCount,
            h(
                'div',
                { class: 'scroll', attributes: { tabindex: 0, role: 'region', 'aria-label': 'hottest functions' } },
                h(
                    'table',
                    {},
                    h(
                        'thead',
                        {},
                        h(
                            'tr',
                            {},
                            h('th', { attributes: { scope: 'col' } }, 'function'),
                            h('th', { class: 'wide-only', attributes: { scope: 'col' } }, 'in'),
                            h('th', { class: 'num', attributes: { scope: 'col' } }, 'now'),
                            h('th', { class: 'num wide-only', attributes: { scope: 'col' } }, 'CPUs'),
                            h('th', { attributes: { scope: 'col' } }, 'last minutes'),
                        ),
                    ),
                    functions,
                ),
            ),
        ),
        h('div', { class: 'column w4' }, unitCard, health, cost, degraded),
    );
    const element = h('div', {}, trouble, grid);

    const rows = new Map<
        number,
        { root: HTMLElement; figure: HTMLElement; canvas: HTMLCanvasElement; bar: HTMLElement }
    >();
    let drawn = -1;

    function drawCpus(slices: Slice[]): void {
        const newest = slices.at(-1);
        if (newest === undefined) return;
        const shown = newest.cpus.slice(0, kMostCpus);
        cpus.classList.toggle('few', shown.length <= 4);
        if (shown.length !== rows.size || shown.some((cpu) => !rows.has(cpu.cpu))) {
            rows.clear();
            for (const cpu of shown) {
                const figure = h('span');
                const canvas = h('canvas', { attributes: { 'aria-hidden': 'true' } });
                const bar = h('div');
                const root = h(
                    'div',
                    { class: 'cpu' },
                    h('div', {}, h('strong', {}, `CPU ${cpu.cpu}`), figure),
                    canvas,
                    bar,
                );
                rows.set(cpu.cpu, { root, figure, canvas, bar });
            }
            replace(
                cpus,
                ...[...rows.values()].map((row) => row.root),
                newest.cpus.length > shown.length &&
                    h('div', { class: 'soft' }, `and ${newest.cpus.length - shown.length} more CPUs`),
            );
        }
        const byNumber = slices.map((slice) => new Map(slice.cpus.map((cpu) => [cpu.cpu, cpu])));
        for (const cpu of shown) {
            const row = rows.get(cpu.cpu);
            if (row === undefined) continue;
            const point = pointOf(cpu);
            replace(
                row.figure,
                point === null ? 'not known' : percent(point.busy),
                point !== null &&
                    h('span', { class: 'soft' }, ` ${(point.low * 100).toFixed(0)}–${(point.high * 100).toFixed(0)} %`),
            );
            row.figure.title = point === null ? '' : intervalText(point);
            replace(row.bar, splitBar(cpu.modes, cpu.seconds));
            busyStrip(
                row.canvas,
                byNumber.map((map) => pointOf(map.get(cpu.cpu))),
                Math.min(kShown, Math.max(slices.length, 24)),
            );
        }
    }

    function drawChart(slices: Slice[]): void {
        chart.show({
            times: slices.map((slice) => Date.parse(slice.end) / 1000),
            stacked: kModes.map(({ mode, label }) => ({
                colour: mode,
                label,
                values: slices.map((slice) => slice.host.modes[mode] / (slice.host.seconds || 1)),
            })),
            busy: {
                values: slices.map((slice) => slice.host.busy ?? null),
                low: slices.map((slice) => slice.host.busy_low ?? null),
                high: slices.map((slice) => slice.host.busy_high ?? null),
            },
        });
    }

    function drawTables(slices: Slice[]): void {
        const ranked = rank(slices, 'functions').slice(0, kRows);
        const top = Math.max(...ranked.map((one) => Math.max(...one.history)), 0);
        functionCount.textContent = 'by what they took in the last minute, their callees not counted';
        const sparks: [HTMLCanvasElement, number[]][] = [];
        replace(
            functions,
            ...ranked.map((one) => {
                const { function: name = '', dso = '', reason } = one.row;
                const kind = kindOfNamed(name, dso, reason);
                const shown = reason === undefined ? name : `[${baseName(dso).replace(/^\[|\]$/g, '')}]`;
                const canvas = h('canvas', { class: 'spark', attributes: { 'aria-hidden': 'true' } });
                sparks.push([canvas, one.history]);
                return h(
                    'tr',
                    {},
                    h(
                        'td',
                        { class: 'name', title: `${name}${reasonText(reason)}\n${dso}` },
                        chip(colourOf(kind, shown)),
                        h(
                            'a',
                            {
                                attributes: {
                                    href: address('flame', {
                                        search: `^${shown.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}$`,
                                    }),
                                },
                            },
                            shown,
                        ),
                        reason !== undefined && h('span', { class: 'soft' }, reasonText(reason)),
                    ),
                    h('td', { class: 'dso wide-only', title: dso }, baseName(dso)),
                    h('td', { class: 'num' }, percent(one.now)),
                    h('td', { class: 'num wide-only' }, one.cores.toFixed(2)),
                    h('td', {}, canvas),
                );
            }),
        );
        if (ranked.length === 0)
            replace(
                functions,
                h(
                    'tr',
                    {},
                    h('td', { attributes: { colspan: 5 } }, 'Nothing ran: every sample of the last minute was idle.'),
                ),
            );
        for (const [canvas, history] of sparks)
            sparkline(canvas, history, Math.min(kShown, Math.max(slices.length, 24)), top);

        const rankedUnits = rank(slices, 'units').slice(0, kRows);
        replace(
            units,
            ...rankedUnits.map((one) => {
                const unit = one.row.unit || kNoUnit;
                return h(
                    'tr',
                    {},
                    h(
                        'td',
                        { class: 'name', title: unit },
                        h('a', { attributes: { href: address('flame', { unit }) } }, unit),
                        one.throttled > 0 &&
                            h(
                                'span',
                                { class: 'tag warn', title: 'its own CPU limit stopped it, last minute' },
                                `throttled ${seconds(one.throttled)}`,
                            ),
                    ),
                    h('td', { class: 'num' }, percent(one.now)),
                    h('td', { class: 'num' }, one.cores.toFixed(2)),
                );
            }),
        );
        if (rankedUnits.length === 0)
            replace(units, h('tr', {}, h('td', { attributes: { colspan: 3 } }, 'No unit used CPU time.')));
    }

    function draw(force = false): void {
        const { connection, newest, head } = live;
        const slices = live.slices.slice(-kShown);
        if (connection === 'locked') replace(trouble, troubleOf(new ApiError('locked', 401, live.why)));
        else if (connection === 'gone') {
            replace(
                trouble,
                h(
                    'div',
                    { class: 'notice bad', attributes: { role: 'alert' } },
                    h(
                        'p',
                        {},
                        h('strong', {}, 'The daemon is gone.'),
                        newest ? ` What is shown is from ${clock(Date.parse(newest.end))}.` : '',
                    ),
                    h(
                        'p',
                        {},
                        'It is asked again every two seconds. On the host: ',
                        h('code', {}, 'systemctl status perfvigild'),
                        '.',
                    ),
                ),
            );
        } else replace(trouble);
        grid.hidden = newest === undefined;
        if (newest === undefined) {
            if (connection === 'live') {
                trouble.append(
                    head?.state === 'ended'
                        ? empty('The replay has ended without a slice.')
                        : waiting(`Waiting for the first slice (${seconds(head?.slice_seconds ?? 5)}).`),
                );
            } else if (connection === 'connecting') trouble.append(waiting('Asking the daemon.'));
            return;
        }
        if (!force && newest.number === drawn && connection === 'live') return;
        drawn = newest.number;
        const point = pointOf(newest.host);
        host.textContent = `${newest.cpus.length} CPUs, slice of ${seconds(newest.duration_seconds)} ended ${clock(Date.parse(newest.end))}`;
        replace(
            busyFigure,
            point === null ? 'not known' : percent(point.busy),
            h(
                'small',
                {},
                point === null
                    ? ' no clock event is recorded'
                    : ` busy, between ${percent(point.low)} and ${percent(point.high)}`,
            ),
        );
        drawChart(slices);
        drawCpus(slices);
        drawTables(slices);
        ledgerCard(health, slices);
        costCard(cost, newest);
        degradedCard(degraded, head?.degraded ?? []);
    }

    const end = live.listen(() => draw());
    return {
        title: 'Now',
        element,
        update: () => draw(true),
        repaint: () => {
            chart.repaint();
            draw(true);
        },
        close: () => {
            end();
            chart.close();
        },
    };
}
