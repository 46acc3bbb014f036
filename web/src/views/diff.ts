// SPDX-License-Identifier: GPL-2.0-or-later
// Two stretches of time compared: the daemon's table with its intervals, and a flame graph of both in red and blue.
import { ApiError, getJson, nanoseconds, newestWindows } from '../api.js';
import { h, replace, type Child } from '../dom.js';
import { smallPercent, span } from '../format.js';
import { FlamePanel } from '../flame/panel.js';
import { card, chip, choice, empty, Loader, select } from '../parts.js';
import { changeColour, mergeTrees } from '../profile/difference.js';
import { find, rangeOf, rangeParams, type Found, type Range } from '../profile/source.js';
import { buildTree, chosenEvent, eventsOf } from '../profile/tree.js';
import { change, currentRoute } from '../route.js';
import { Timeline } from '../timeline.js';
import type { View } from '../view.js';
import { diffTable, points, verdict, type DiffAnswer } from './diff_table.js';

const kBefore = { from: 'bfrom', to: 'bto' };
const kAfter = { from: 'afrom', to: 'ato' };

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
    const panel = new FlamePanel(
        'Difference',
        {
            more: (node): Child[] => [
                h(
                    'dl',
                    { class: 'facts' },
                    h('dt', {}, 'before'),
                    h('dd', {}, smallPercent(merged.before[node] ?? 0)),
                    h('dt', {}, 'after'),
                    h('dd', {}, smallPercent(merged.after[node] ?? 0)),
                    h('dt', {}, 'change'),
                    h(
                        'dd',
                        {},
                        `${points((merged.after[node] ?? 0) - (merged.before[node] ?? 0))} points${merged.certain[node] === 1 ? '' : ', which may be chance'}`,
                    ),
                ),
            ],
        },
        (_, node) => changeColour(merged, node),
    );
    panels.push(panel);
    panel.plain = true;
    panel.rest = 'Width is the mean of both sides; point at a frame for its shares.';
    panel.graph.setIcicle(view === 'icicle');
    panel.show(merged.tree);
    panel.setLegend(
        h('span', {}, chip('rgb(255,106,94)'), 'more than before'),
        h('span', {}, chip('rgb(111,168,255)'), 'less'),
        h('span', {}, chip('rgb(240,240,238)'), 'the same, or a difference that may be chance'),
    );
    return panel.element;
}

export function diffView(): View {
    let choosing: 'before' | 'after' = 'before';
    const side = h('span');
    const timeline = new Timeline(
        'Busy share of the host over time; drag to choose the stretch before, then the one after',
        (range) => {
            const of = choosing === 'before' ? kBefore : kAfter;
            choosing = choosing === 'before' ? 'after' : 'before';
            change(rangeParams(range, of.from, of.to));
            sides();
        },
    );
    const place = h('div');
    const loader = new Loader(place);
    const element = h(
        'div',
        { class: 'grid' },
        card('w12', 'Which stretches', side, timeline.element),
        h('div', { class: 'card' }, place),
    );
    let panels: FlamePanel[] = [];
    let shownKey = '';

    function sides(): void {
        replace(
            side,
            choice(
                'what the next drag chooses',
                [
                    { value: 'before', text: 'choose before' },
                    { value: 'after', text: 'choose after' },
                ],
                choosing,
                (value) => {
                    choosing = value;
                    sides();
                },
            ),
        );
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
        change(
            {
                ...rangeParams(
                    { from: Date.parse(before.start), to: Date.parse(before.end) },
                    kBefore.from,
                    kBefore.to,
                ),
                ...rangeParams({ from: Date.parse(after.start), to: Date.parse(after.end) }, kAfter.from, kAfter.to),
            },
            true,
        );
        return true;
    }

    async function compare(
        before: Range,
        after: Range,
        params: URLSearchParams,
        signal: AbortSignal,
    ): Promise<Child[]> {
        const [first, second] = await Promise.all([
            find({ range: before, window: null, raw: false }, signal),
            find({ range: after, window: null, raw: false }, signal),
        ]);
        if (first === null || second === null)
            return [empty(`Nothing is kept of the stretch ${first === null ? 'before' : 'after'}.`)];
        const event = chosenEvent(second.profiles, params.get('event') ?? undefined);
        const by = params.get('by') ?? 'function';
        const of = (found: Found): string =>
            found.profiles.length === 1
                ? (found.profiles[0]?.id ?? '')
                : `${nanoseconds(found.from)}..${nanoseconds(found.to)}`;
        const query = new URLSearchParams({ before: of(first), after: of(second), event, by });
        if (params.get('force') === 'true') query.set('force', 'true');
        const heading = h(
            'header',
            { class: 'heading' },
            h('h2', {}, 'What changed'),
            h('span', {}, span(first.from, first.to)),
            h('span', { class: 'soft' }, 'against'),
            h('span', {}, span(second.from, second.to)),
        );
        const bar = h(
            'div',
            { class: 'bar' },
            select(
                'event',
                eventsOf(second.profiles).map(({ name }) => ({ value: name, text: name })),
                event,
                (value) => change({ event: value }),
            ),
            select(
                'by',
                [
                    { value: 'function', text: 'function, itself' },
                    { value: 'total', text: 'function, with callees' },
                    { value: 'dso', text: 'binary' },
                    { value: 'comm', text: 'thread' },
                    { value: 'unit', text: 'unit' },
                ],
                by,
                (value) => change({ by: value }),
            ),
            h(
                'button',
                {
                    attributes: { type: 'button' },
                    on: {
                        click: () =>
                            change({
                                ...rangeParams(after, kBefore.from, kBefore.to),
                                ...rangeParams(before, kAfter.from, kAfter.to),
                            }),
                    },
                },
                'swap sides',
            ),
        );
        let answer: DiffAnswer;
        try {
            answer = await getJson<DiffAnswer>(`/v1/diff?${query.toString()}`, signal);
        } catch (error) {
            if (!(error instanceof ApiError) || error.status !== 409) throw error;
            return [
                heading,
                bar,
                h(
                    'div',
                    { class: 'notice warn' },
                    h('p', {}, h('strong', {}, 'These two should not be compared.')),
                    h('p', {}, error.message),
                    h(
                        'button',
                        { attributes: { type: 'button' }, on: { click: () => change({ force: 'true' }) } },
                        'compare all the same',
                    ),
                ),
            ];
        }
        const diff = answer.events[0];
        if (diff === undefined) return [heading, bar, empty('Both sides have no event in common.')];
        const remarks = [
            ...diff.notes,
            ...(diff.sampling_error_only && diff.why_sampling_only
                ? [`Intervals hold the error of sampling alone: ${diff.why_sampling_only}`]
                : []),
        ];
        return [
            heading,
            bar,
            verdict(diff),
            diffTable(diff, params.get('rows') === 'all', flameRange()),
            remarks.length > 0 ? h('ul', { class: 'soft' }, ...remarks.map((note) => h('li', {}, note))) : null,
            h('h3', {}, 'Both as one flame graph'),
            picture(first, second, event, panels, params.get('view')),
        ];
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
                ...(before === null ? [] : [{ range: before, colour: 'soft' }]),
                ...(after === null ? [] : [{ range: after, colour: 'line' }]),
            ]);
            const key = JSON.stringify([
                before,
                after,
                ...['event', 'by', 'force', 'rows', 'view'].map((name) => params.get(name)),
            ]);
            if (key === shownKey) return;
            shownKey = key;
            closePanels();
            void loader.run('Comparing.', async (signal) => {
                if (before !== null && after !== null) return compare(before, after, params, signal);
                if (before === null && after === null && (await defaults(signal))) return [];
                return [
                    before === null && after === null
                        ? empty(
                              'Two windows are needed.',
                              'The second is complete two minutes after the daemon’s start.',
                          )
                        : empty(
                              `Choose the stretch ${before === null ? 'before' : 'after'}, too.`,
                              'Drag over the chart above.',
                          ),
                ];
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
