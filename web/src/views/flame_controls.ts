// SPDX-License-Identifier: GPL-2.0-or-later
// What stands around a flame graph: what it is of, what of that is shown, and how to take it along.
import { nanoseconds, newestWindows } from '../api.js';
import { copyText, h, saveFile, type Child } from '../dom.js';
import { weightText, type FlamePanel } from '../flame/panel.js';
import { picture } from '../flame/picture.js';
import { zoomNode } from '../flame/zoom.js';
import { count, percent, smallPercent, span } from '../format.js';
import { choice, empty, select } from '../parts.js';
import { rangeParams, type Found, type Range } from '../profile/source.js';
import { eventsOf, folded, kNoUnit, type Tree } from '../profile/tree.js';
import { address, change, currentRoute } from '../route.js';

function rangeLabel(found: Found, range: Range | null): Child[] {
    const held = span(found.from, found.to);
    if (range === null || (Math.abs(found.from - range.from) < 1500 && Math.abs(found.to - range.to) < 1500))
        return [held];
    return [held, h('span', { class: 'soft' }, ' – the profiles that hold the stretch that was asked for')];
}

export function warningsOf(found: Found): HTMLElement | null {
    const sentences = [...new Set(found.profiles.flatMap((profile) => profile.warnings))];
    const notes = [...new Set(found.profiles.flatMap((profile) => profile.notes))];
    if (sentences.length + notes.length === 0) return null;
    return h(
        'details',
        {},
        h('summary', {}, `${sentences.length} warnings, ${notes.length} notes`),
        h(
            'ul',
            {},
            ...sentences.map((text) => h('li', {}, h('span', { class: 'tag warn' }, 'warning'), ' ', text)),
            ...notes.map((text) => h('li', {}, text)),
        ),
    );
}

export async function whyNothing(range: Range | null, signal: AbortSignal): Promise<HTMLElement> {
    if (range === null)
        return empty('No window is complete yet.', 'The first one is, a minute after the daemon’s start.');
    const [newest] = await newestWindows(1, 'window', signal);
    if (newest !== undefined && range.to > Date.parse(newest.end)) {
        return empty(
            'The window that holds this time is not complete yet.',
            'It will be within a minute. ',
            h(
                'a',
                { attributes: { href: address('flame', { ...rangeParams(range), raw: 'true' }) } },
                'Its raw samples',
            ),
            ' are there already.',
        );
    }
    return empty(
        'Nothing is kept of that time.',
        h('a', { attributes: { href: address('flame') } }, 'The newest window'),
    );
}

// What was loaded, and what of the address it depends on.
export interface Loaded {
    found: Found;
    range: Range | null;
    raw: boolean;
}

// What is shown of what was loaded. `setSearch`: from the address, unless somebody is typing.
export interface Chooser {
    element: HTMLElement;
    setSearch: (text: string) => void;
}

export function chooser(params: URLSearchParams, from: Loaded, shown: Tree): Chooser {
    const { profiles } = from.found;
    const comms = new Map<string, number>();
    const units = new Map<string, number>();
    for (const profile of profiles) {
        const event = profile.events.findIndex((one) => one.name === shown.event);
        profile.sampleWeights.forEach((weight, i) => {
            if (profile.sampleEvents[i] !== event || profile.sampleIdle[i] !== 0) return;
            const context = profile.contexts[profile.sampleContexts[i] ?? 0];
            if (context === undefined) return;
            comms.set(context.comm, (comms.get(context.comm) ?? 0) + weight);
            units.set(context.unit || kNoUnit, (units.get(context.unit || kNoUnit) ?? 0) + weight);
        });
    }
    const listed = (all: Map<string, number>, any: string): { value: string; text: string }[] => [
        { value: '', text: any },
        ...[...all.entries()]
            .sort((a, b) => b[1] - a[1])
            .slice(0, 300)
            .map(([name, weight]) => ({
                value: name,
                text: `${name === '' ? '[no name]' : name}  ${smallPercent(weight / (shown.wholeWeight || 1))}`,
            })),
    ];
    const search = h('input', {
        attributes: {
            type: 'search',
            value: params.get('search') ?? '',
            placeholder: 'function or regular expression',
            'aria-label': 'search',
            size: 26,
        },
        on: { input: () => change({ search: search.value }, true) },
    });
    const setSearch = (text: string): void => {
        if (document.activeElement !== search) search.value = text;
    };
    const element = h(
        'div',
        { class: 'bar' },
        select(
            'event',
            eventsOf(profiles).map(({ name, samples }) => ({ value: name, text: `${name} (${count(samples)})` })),
            shown.event,
            (event) => change({ event, zoom: null }),
        ),
        select('unit', listed(units, 'all units'), params.get('unit') ?? '', (unit) => change({ unit, zoom: null })),
        select('thread', listed(comms, 'all threads'), params.get('comm') ?? '', (comm) =>
            change({ comm, zoom: null }),
        ),
        choice(
            'direction',
            [
                { value: '', text: 'flame' },
                { value: 'icicle', text: 'icicle' },
            ],
            params.get('view') === 'icicle' ? 'icicle' : '',
            (view) => change({ view }),
        ),
        choice(
            'grouping',
            [
                { value: '', text: 'by thread' },
                { value: 'off', text: 'together' },
            ],
            params.get('threads') === 'off' ? 'off' : '',
            (threads) => change({ threads, zoom: null }),
        ),
        h('span', { class: 'grow' }),
        search,
        h('kbd', { class: 'wide-only', title: 'goes to the search' }, '/'),
    );
    return { element, setSearch };
}

export function exports(shown: Tree, from: Loaded, panel: FlamePanel, title: string): HTMLElement {
    const copy = h(
        'button',
        { attributes: { type: 'button' }, on: { click: () => void copyText(folded(shown), copy) } },
        'copy folded',
    );
    const save = h(
        'button',
        {
            attributes: { type: 'button' },
            on: {
                click: () => {
                    const { laidOut } = panel.graph;
                    if (laidOut === null) return;
                    const zoomed = zoomNode(laidOut, currentRoute().params.get('zoom') ?? '');
                    saveFile(
                        'perfvigil.svg',
                        'image/svg+xml',
                        picture(
                            laidOut,
                            zoomed,
                            currentRoute().params.get('view') === 'icicle',
                            title,
                            (node) => panel.colourOf(node),
                            (node) => panel.graph.textOf(node),
                            (node) => panel.describe(node),
                        ),
                    );
                },
            },
        },
        'save SVG',
    );
    const query = new URLSearchParams({ to: 'pprof', event: shown.event });
    const { params } = currentRoute();
    for (const name of ['comm', 'unit']) {
        const value = params.get(name);
        if (value) query.set(name, value === kNoUnit ? '' : value);
    }
    const { found, range, raw } = from;
    const id = found.profiles.length === 1 ? (found.profiles[0]?.id ?? '') : '';
    if (raw && range !== null) {
        query.set('raw', 'true');
        query.set('since', nanoseconds(range.from));
        query.set('until', nanoseconds(range.to));
    } else if (id !== '') query.set('window', id);
    else {
        query.set('since', nanoseconds(found.from));
        query.set('until', nanoseconds(found.to));
    }
    return h(
        'div',
        { class: 'bar' },
        copy,
        save,
        h('a', { attributes: { href: `/v1/export?${query.toString()}`, download: 'perfvigil.pb.gz' } }, 'pprof'),
    );
}

export function heading(shown: Tree, from: Loaded): HTMLElement {
    const lost = from.found.profiles
        .flatMap((p) => p.events)
        .filter((e) => e.name === shown.event)
        .reduce((n, e) => n + e.lost, 0);
    const filtered =
        shown.total[0] !== shown.wholeWeight
            ? [
                  ` – ${percent((shown.total[0] ?? 0) / (shown.wholeWeight || 1))} of the whole, shares are of what is left`,
              ]
            : [];
    return h(
        'header',
        { class: 'heading' },
        h('h2', {}, from.raw ? 'Flame graph of raw samples' : 'Flame graph'),
        h('span', {}, ...rangeLabel(from.found, from.range)),
        h(
            'span',
            { class: 'soft' },
            `${count(shown.samples[0] ?? 0)} samples of ${shown.event}, ${weightText(shown, shown.total[0] ?? 0)}`,
            ...filtered,
        ),
        lost > 0 ? h('span', { class: 'tag warn' }, `${count(lost)} samples lost`) : null,
    );
}

export function nothing(from: Loaded, shown: Tree): HTMLElement {
    const idle = shown.wholeWeight === 0;
    return empty(
        idle
            ? `No sample of ${shown.event || 'any event'} was taken while a CPU was busy.`
            : 'Nothing is left by these filters.',
        idle
            ? `${span(from.found.from, from.found.to)}.`
            : h(
                  'a',
                  {
                      attributes: {
                          href: address('flame', {
                              ...Object.fromEntries(currentRoute().params),
                              comm: null,
                              unit: null,
                          }),
                      },
                  },
                  'Without filters',
              ),
    );
}
