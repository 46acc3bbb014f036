// SPDX-License-Identifier: GPL-2.0-or-later
// Two stretches of time compared: the daemon's table with its intervals, and a flame graph of both in red and blue.
import { ApiError, getJson, nanoseconds, newestWindows } from '../api.js';
import { h, replace, svg, type Child } from '../dom.js';
import { baseName, count, percent, smallPercent, span } from '../format.js';
import { FlamePanel } from '../flame/panel.js';
import { card, chip, choice, empty, Loader, select } from '../parts.js';
import { changeColour, mergeTrees } from '../profile/difference.js';
import { find, rangeOf, rangeParams, type Found, type Range } from '../profile/source.js';
import { buildTree, chosenEvent, eventsOf } from '../profile/tree.js';
import { address, change, currentRoute } from '../route.js';
import { Timeline } from '../timeline.js';
import type { View } from '../view.js';

interface Change {
    before: number;
    after: number;
    change: number;
    low: number;
    high: number;
    p: number;
    dispersion: number;
}

interface Row {
    name: string;
    dso?: string;
    samples_before: number;
    samples_after: number;
    share: Change;
    tested: boolean;
    significant: boolean;
    false_discovery_rate: number;
}

interface EventDiff {
    event: string;
    by: string;
    tested: number;
    significant: number;
    sampling_error_only: boolean;
    why_sampling_only?: string;
    rows: Row[];
    rows_left_out?: number;
    detectable: { share: number; change: number }[];
    notes: string[];
}

interface DiffAnswer {
    changed: boolean;
    events: EventDiff[];
}

const kBefore = { from: 'bfrom', to: 'bto' };
const kAfter = { from: 'afrom', to: 'ato' };
const kRows = 40;

const points = (share: number): string => `${share > 0 ? '+' : share < 0 ? '−' : ''}${Math.abs(share * 100).toFixed(2)}`;

// The change with its interval on one scale for all rows.
function whisker(c: Change, reach: number, significant: boolean): SVGElement {
    const x = (value: number): number => 85 + (Math.max(-reach, Math.min(reach, value)) / (reach || 1)) * 80;
    const colour = !significant ? 'var(--soft)' : c.change > 0 ? 'var(--bad)' : 'var(--link)';
    return svg('svg', { class: 'whisker', viewBox: '0 0 170 16', role: 'img', 'aria-label': `${points(c.change)} points, between ${points(c.low)} and ${points(c.high)}` },
        svg('line', { x1: 85, x2: 85, y1: 0, y2: 16, stroke: 'var(--edge)' }),
        svg('line', { x1: x(c.low), x2: x(c.high), y1: 8, y2: 8, stroke: colour, 'stroke-width': 2 }),
        svg('circle', { cx: x(c.change), cy: 8, r: 3.5, fill: colour }));
}

function verdict(diff: EventDiff): HTMLElement {
    const up = diff.rows.filter((row) => row.significant && row.share.change > 0).length;
    const down = diff.significant - up;
    if (diff.significant > 0) {
        return h('div', { class: 'notice warn' },
            h('p', {}, h('strong', {}, `${diff.significant} of ${diff.tested} changed`), `: ${up} took more, ${down} took less.`),
            h('p', { class: 'soft' }, 'Of what is listed as changed, one in twenty may be chance.'));
    }
    const found = diff.detectable.map(({ share, change: size }) => `${percent(share, share < 0.05 ? 1 : 0)} by ${(size * 100).toFixed(1)} points`);
    return h('div', { class: 'notice' },
        h('p', {}, h('strong', {}, 'Nothing changed that these samples could show.')),
        h('p', {}, found.length === 0 ? 'Neither side has enough samples to judge a function by.'
            : `They would have shown a change, four times in five, of a function with a share of ${found.join(', of ')}. Longer stretches show smaller changes.`));
}

function table(diff: EventDiff, all: boolean): HTMLElement {
    const rows = diff.rows.slice(0, all ? undefined : kRows);
    const reach = Math.max(...rows.filter((row) => row.tested).slice(0, 25).map((row) => Math.max(Math.abs(row.share.low), Math.abs(row.share.high))), 0.001);
    const names = diff.by === 'function' || diff.by === 'total';
    return h('div', { class: 'scroll', attributes: { tabindex: 0, role: 'region', 'aria-label': 'changes' } },
        h('table', {},
            h('thead', {}, h('tr', {},
                h('th', { attributes: { scope: 'col' } }, diff.by === 'total' ? 'function, with its callees' : diff.by === 'comm' ? 'thread' : diff.by),
                h('th', { class: 'num', attributes: { scope: 'col' } }, 'before'),
                h('th', { class: 'num', attributes: { scope: 'col' } }, 'after'),
                h('th', { class: 'num', attributes: { scope: 'col' } }, 'points'),
                h('th', { class: 'wide-only', attributes: { scope: 'col' } }, '95 % interval'),
                h('th', { attributes: { scope: 'col' } }, ''))),
            h('tbody', {}, ...rows.map((row) => h('tr', {},
                h('td', { class: 'name', title: `${row.name}${row.dso ? `\n${row.dso}` : ''}\n${count(row.samples_before)} and ${count(row.samples_after)} samples` },
                    names ? h('a', { attributes: { href: address('flame', { ...flameRange(), function: row.name, dso: row.dso ?? null }) } }, row.name) : row.name || '(none)',
                    row.dso ? h('span', { class: 'soft' }, `  ${baseName(row.dso)}`) : null),
                h('td', { class: 'num' }, smallPercent(row.share.before)),
                h('td', { class: 'num' }, smallPercent(row.share.after)),
                h('td', { class: 'num' }, points(row.share.change)),
                h('td', { class: 'wide-only', title: `${points(row.share.low)} to ${points(row.share.high)} points` }, row.tested ? whisker(row.share, reach, row.significant) : h('span', { class: 'soft' }, 'too few samples')),
                h('td', {}, row.significant ? h('span', { class: `tag ${row.share.change > 0 ? 'bad' : 'good'}` }, row.share.change > 0 ? 'more' : 'less') : h('span', { class: 'soft' }, 'may be chance'))))),
        ),
        !all && diff.rows.length > kRows ? h('button', { attributes: { type: 'button' }, on: { click: () => change({ rows: 'all' }, true) } }, `${diff.rows.length - kRows} more`) : null);
}

const flameRange = (): Record<string, string> => {
    const range = rangeOf(currentRoute().params, kAfter.from, kAfter.to);
    return range === null ? {} : rangeParams(range);
};

function picture(before: Found, after: Found, event: string, panels: FlamePanel[], view: string | null): HTMLElement {
    const sides = [before, after].map((side) => buildTree(side.profiles, { event }));
    const [first, second] = sides;
    if (first === undefined || second === undefined || (first.total[0] ?? 0) === 0 || (second.total[0] ?? 0) === 0) {
        return empty('One side has no sample of a busy CPU.');
    }
    const merged = mergeTrees(first, second);
    const panel = new FlamePanel('Difference', {
        more: (node): Child[] => [h('dl', { class: 'facts' },
            h('dt', {}, 'before'), h('dd', {}, smallPercent(merged.before[node] ?? 0)),
            h('dt', {}, 'after'), h('dd', {}, smallPercent(merged.after[node] ?? 0)),
            h('dt', {}, 'change'), h('dd', {}, `${points((merged.after[node] ?? 0) - (merged.before[node] ?? 0))} points${merged.certain[node] === 1 ? '' : ', which may be chance'}`))],
    }, (_, node) => changeColour(merged, node));
    panels.push(panel);
    panel.plain = true;
    panel.rest = 'Width is the mean of both sides; point at a frame for its shares.';
    panel.graph.setIcicle(view === 'icicle');
    panel.show(merged.tree);
    panel.setLegend(
        h('span', {}, chip('rgb(255,106,94)'), 'more than before'), h('span', {}, chip('rgb(111,168,255)'), 'less'),
        h('span', {}, chip('rgb(240,240,238)'), 'the same, or a difference that may be chance'));
    return panel.element;
}

export function diffView(): View {
    let choosing: 'before' | 'after' = 'before';
    const side = h('span');
    const timeline = new Timeline('Busy share of the host over time; drag to choose the stretch before, then the one after', (range) => {
        const of = choosing === 'before' ? kBefore : kAfter;
        choosing = choosing === 'before' ? 'after' : 'before';
        change(rangeParams(range, of.from, of.to));
        sides();
    });
    const place = h('div');
    const loader = new Loader(place);
    const element = h('div', { class: 'grid' },
        card('w12', 'Which stretches', side, timeline.element), h('div', { class: 'card' }, place));
    let panels: FlamePanel[] = [];
    let shownKey = '';

    function sides(): void {
        replace(side, choice('what the next drag chooses', [{ value: 'before', text: 'choose before' }, { value: 'after', text: 'choose after' }], choosing, (value) => {
            choosing = value;
            sides();
        }));
    }

    const closePanels = (): void => {
        for (const panel of panels) panel.close();
        panels = [];
    };

    // Without an address that says more: the last window against the one before it.
    async function defaults(signal: AbortSignal): Promise<boolean> {
        // Those that were cut short are short on samples.
        const [after, before] = (await newestWindows(6, 'window', signal)).filter((window) => !window.partial);
        if (after === undefined || before === undefined) return false;
        change({
            ...rangeParams({ from: Date.parse(before.start), to: Date.parse(before.end) }, kBefore.from, kBefore.to),
            ...rangeParams({ from: Date.parse(after.start), to: Date.parse(after.end) }, kAfter.from, kAfter.to),
        }, true);
        return true;
    }

    async function compare(before: Range, after: Range, params: URLSearchParams, signal: AbortSignal): Promise<Child[]> {
        const [first, second] = await Promise.all([
            find({ range: before, window: null, raw: false }, signal), find({ range: after, window: null, raw: false }, signal)]);
        if (first === null || second === null) return [empty(`Nothing is kept of the stretch ${first === null ? 'before' : 'after'}.`)];
        const event = chosenEvent(second.profiles, params.get('event') ?? undefined);
        const by = params.get('by') ?? 'function';
        const of = (found: Found): string => (found.profiles.length === 1 ? found.profiles[0]?.id ?? '' : `${nanoseconds(found.from)}..${nanoseconds(found.to)}`);
        const query = new URLSearchParams({ before: of(first), after: of(second), event, by });
        if (params.get('force') === 'true') query.set('force', 'true');
        const heading = h('header', { class: 'heading' }, h('h2', {}, 'What changed'),
            h('span', {}, span(first.from, first.to)), h('span', { class: 'soft' }, 'against'), h('span', {}, span(second.from, second.to)));
        const bar = h('div', { class: 'bar' },
            select('event', eventsOf(second.profiles).map(({ name }) => ({ value: name, text: name })), event, (value) => change({ event: value })),
            select('by', [
                { value: 'function', text: 'function, itself' }, { value: 'total', text: 'function, with callees' }, { value: 'dso', text: 'binary' },
                { value: 'comm', text: 'thread' }, { value: 'unit', text: 'unit' }], by, (value) => change({ by: value })),
            h('button', { attributes: { type: 'button' }, on: { click: () => change({
                ...rangeParams(after, kBefore.from, kBefore.to), ...rangeParams(before, kAfter.from, kAfter.to) }) } }, 'swap sides'));
        let answer: DiffAnswer;
        try {
            answer = await getJson<DiffAnswer>(`/v1/diff?${query.toString()}`, signal);
        } catch (error) {
            if (!(error instanceof ApiError) || error.status !== 409) throw error;
            return [heading, bar, h('div', { class: 'notice warn' }, h('p', {}, h('strong', {}, 'These two should not be compared.')), h('p', {}, error.message),
                h('button', { attributes: { type: 'button' }, on: { click: () => change({ force: 'true' }) } }, 'compare all the same'))];
        }
        const diff = answer.events[0];
        if (diff === undefined) return [heading, bar, empty('Both sides have no event in common.')];
        const remarks = [...diff.notes, ...(diff.sampling_error_only && diff.why_sampling_only ? [`Intervals hold the error of sampling alone: ${diff.why_sampling_only}`] : [])];
        return [heading, bar, verdict(diff), table(diff, params.get('rows') === 'all'),
            remarks.length > 0 ? h('ul', { class: 'soft' }, ...remarks.map((note) => h('li', {}, note))) : null,
            h('h3', {}, 'Both as one flame graph'), picture(first, second, event, panels, params.get('view'))];
    }

    sides();
    return {
        title: 'Diff',
        element,
        update: (params) => {
            timeline.update(params);
            const before = rangeOf(params, kBefore.from, kBefore.to);
            const after = rangeOf(params, kAfter.from, kAfter.to);
            timeline.mark([
                ...(before === null ? [] : [{ range: before, colour: 'soft' }]), ...(after === null ? [] : [{ range: after, colour: 'line' }])]);
            const key = JSON.stringify([before, after, ...['event', 'by', 'force', 'rows', 'view'].map((name) => params.get(name))]);
            if (key === shownKey) return;
            shownKey = key;
            closePanels();
            void loader.run('Comparing.', async (signal) => {
                if (before !== null && after !== null) return compare(before, after, params, signal);
                if (before === null && after === null && (await defaults(signal))) return [];
                return [before === null && after === null
                    ? empty('Two windows are needed.', 'The second is complete two minutes after the daemon’s start.')
                    : empty(`Choose the stretch ${before === null ? 'before' : 'after'}, too.`, 'Drag over the chart above.')];
            });
        },
        repaint: () => {
            timeline.repaint();
            for (const panel of panels) panel.graph.draw();
        },
        close: () => {
            loader.stop();
            timeline.close();
            closePanels();
        },
    };
}
