// SPDX-License-Identifier: GPL-2.0-or-later
// The flame graph of any window or stretch of time, its functions, and callers and callees of one of them.
import { copyText, h, replace, saveFile, type Child } from '../dom.js';
import { baseName, count, percent, smallPercent, span } from '../format.js';
import { FlamePanel, weightText } from '../flame/panel.js';
import { matchedWeight, pathOf, type Layout } from '../flame/layout.js';
import { picture } from '../flame/picture.js';
import { card, chip, choice, empty, Loader, select } from '../parts.js';
import { colourOf } from '../profile/kind.js';
import { find, rangeOf, rangeParams, type Found, type Range } from '../profile/source.js';
import { buildTree, chosenEvent, eventsOf, folded, functionRows, kNoUnit, sandwich, type Tree } from '../profile/tree.js';
import { address, change, currentRoute } from '../route.js';
import { Timeline } from '../timeline.js';
import type { View } from '../view.js';
import { nanoseconds, newestWindows } from '../api.js';

const kRows = 30;
const kMostRows = 1000;

// Where a frame is among its siblings, from the root on: "0.2.1".
function zoomText(layout: Layout, node: number): string {
    return pathOf(layout, node)
        .map((at) => layout.children[layout.tree.parent[at] ?? 0]?.indexOf(at) ?? 0)
        .join('.');
}

function zoomNode(layout: Layout, text: string): number {
    let at = 0;
    for (const part of text.split('.')) {
        const next = layout.children[at]?.[Number(part)];
        if (part === '' || next === undefined) break;
        at = next;
    }
    return at;
}

export function pattern(text: string): RegExp | null {
    if (text === '') return null;
    try {
        return new RegExp(text, 'i');
    } catch {
        return new RegExp(text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'), 'i');
    }
}

function rangeLabel(found: Found, range: Range | null): Child[] {
    const held = span(found.from, found.to);
    if (range === null || (Math.abs(found.from - range.from) < 1500 && Math.abs(found.to - range.to) < 1500)) return [held];
    return [held, h('span', { class: 'soft' }, ' – the profiles that hold the stretch that was asked for')];
}

function warningsOf(found: Found): HTMLElement | null {
    const sentences = [...new Set(found.profiles.flatMap((profile) => profile.warnings))];
    const notes = [...new Set(found.profiles.flatMap((profile) => profile.notes))];
    if (sentences.length + notes.length === 0) return null;
    return h('details', {}, h('summary', {}, `${sentences.length} warnings, ${notes.length} notes`),
        h('ul', {}, ...sentences.map((text) => h('li', {}, h('span', { class: 'tag warn' }, 'warning'), ' ', text)),
            ...notes.map((text) => h('li', {}, text))));
}

async function whyNothing(range: Range | null, signal: AbortSignal): Promise<HTMLElement> {
    if (range === null) return empty('No window is complete yet.', 'The first one is, a minute after the daemon’s start.');
    const [newest] = await newestWindows(1, 'window', signal);
    if (newest !== undefined && range.to > Date.parse(newest.end)) {
        return empty('The window that holds this time is not complete yet.', 'It will be within a minute. ',
            h('a', { attributes: { href: address('flame', { ...rangeParams(range), raw: 'true' }) } }, 'Its raw samples'), ' are there already.');
    }
    return empty('Nothing is kept of that time.', h('a', { attributes: { href: address('flame') } }, 'The newest window'));
}

// What was loaded, and what of the address it depends on.
interface Loaded {
    found: Found;
    range: Range | null;
    raw: boolean;
}

export function flameView(): View {
    const timeline = new Timeline('Busy share of the host over time; drag to choose what the flame graph shows', (range) =>
        change({ ...rangeParams(range), window: null, zoom: null, raw: null }));
    const place = h('div');
    const loader = new Loader(place);
    const element = h('div', { class: 'grid' },
        card('w12', 'When', 'what the daemon keeps', timeline.element), h('div', { class: 'card' }, place));
    let panels: FlamePanel[] = [];
    let loadedKey = '';
    let shownKey = '';
    let loaded: Loaded | null = null;
    let tree: Tree | null = null;
    let applySearch: (text: string) => void = () => undefined;

    const closePanels = (): void => {
        for (const panel of panels) panel.close();
        panels = [];
    };

    function chooser(params: URLSearchParams, from: Loaded, shown: Tree): HTMLElement {
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
            ...[...all.entries()].sort((a, b) => b[1] - a[1]).slice(0, 300).map(([name, weight]) => ({
                value: name, text: `${name === '' ? '[no name]' : name}  ${smallPercent(weight / (shown.wholeWeight || 1))}`,
            })),
        ];
        const search = h('input', {
            attributes: { type: 'search', value: params.get('search') ?? '', placeholder: 'function or regular expression', 'aria-label': 'search', size: 26 },
            on: { input: () => change({ search: search.value }, true) },
        });
        applySearch = (text) => {
            if (document.activeElement !== search) search.value = text;
        };
        return h('div', { class: 'bar' },
            select('event', eventsOf(profiles).map(({ name, samples }) => ({ value: name, text: `${name} (${count(samples)})` })), shown.event,
                (event) => change({ event, zoom: null })),
            select('unit', listed(units, 'all units'), params.get('unit') ?? '', (unit) => change({ unit, zoom: null })),
            select('thread', listed(comms, 'all threads'), params.get('comm') ?? '', (comm) => change({ comm, zoom: null })),
            choice('direction', [{ value: '', text: 'flame' }, { value: 'icicle', text: 'icicle' }], params.get('view') === 'icicle' ? 'icicle' : '',
                (view) => change({ view })),
            choice('grouping', [{ value: '', text: 'by thread' }, { value: 'off', text: 'together' }], params.get('threads') === 'off' ? 'off' : '',
                (threads) => change({ threads, zoom: null })),
            h('span', { class: 'grow' }), search, h('kbd', { class: 'wide-only', title: 'goes to the search' }, '/'));
    }

    function exports(shown: Tree, from: Loaded, panel: FlamePanel, title: string): HTMLElement {
        const copy = h('button', { attributes: { type: 'button' }, on: { click: () => void copyText(folded(shown), copy) } }, 'copy folded');
        const save = h('button', { attributes: { type: 'button' }, on: { click: () => {
            const { laidOut } = panel.graph;
            if (laidOut === null) return;
            const zoomed = zoomNode(laidOut, currentRoute().params.get('zoom') ?? '');
            saveFile('perfvigil.svg', 'image/svg+xml', picture(laidOut, zoomed, currentRoute().params.get('view') === 'icicle', title,
                (node) => panel.colourOf(node), (node) => panel.graph.textOf(node), (node) => panel.describe(node)));
        } } }, 'save SVG');
        const query = new URLSearchParams({ to: 'pprof', event: shown.event });
        const { params } = currentRoute();
        for (const name of ['comm', 'unit']) {
            const value = params.get(name);
            if (value) query.set(name, value === kNoUnit ? '' : value);
        }
        const { found, range, raw } = from;
        const id = found.profiles.length === 1 ? found.profiles[0]?.id ?? '' : '';
        if (raw && range !== null) {
            query.set('raw', 'true');
            query.set('since', nanoseconds(range.from));
            query.set('until', nanoseconds(range.to));
        } else if (id !== '') query.set('window', id);
        else {
            query.set('since', nanoseconds(found.from));
            query.set('until', nanoseconds(found.to));
        }
        return h('div', { class: 'bar' }, copy, save,
            h('a', { attributes: { href: `/v1/export?${query.toString()}`, download: 'perfvigil.pb.gz' } }, 'pprof'));
    }

    function table(shown: Tree, params: URLSearchParams, filter: RegExp | null): HTMLElement {
        const rows = functionRows(shown).filter((row) => filter === null || filter.test(shown.names[row.name]?.text ?? ''));
        const whole = shown.total[0] || 1;
        const most = params.get('rows') === null ? kRows : kMostRows;
        return h('div', { class: 'scroll', attributes: { tabindex: 0, role: 'region', 'aria-label': 'functions' } },
            h('table', {},
                h('thead', {}, h('tr', {},
                    h('th', { attributes: { scope: 'col' } }, 'function'),
                    h('th', { class: 'wide-only', attributes: { scope: 'col' } }, 'in'),
                    h('th', { class: 'num', attributes: { scope: 'col' } }, 'self'),
                    h('th', { class: 'num', attributes: { scope: 'col' } }, 'total'),
                    h('th', { class: 'num wide-only', attributes: { scope: 'col' } }, 'samples'))),
                h('tbody', {}, ...rows.slice(0, most).map((row) => {
                    const name = shown.names[row.name];
                    if (name === undefined) return null;
                    return h('tr', {},
                        h('td', { class: 'name', title: `${name.text}\n${name.dso}` }, chip(colourOf(name.kind, name.text)),
                            h('a', { attributes: { href: address('flame', { ...Object.fromEntries(params), function: name.text, dso: name.dso, zoom: null }) } }, name.text)),
                        h('td', { class: 'dso wide-only', title: name.dso }, baseName(name.dso)),
                        h('td', { class: 'num' }, smallPercent(row.self / whole)),
                        h('td', { class: 'num' }, smallPercent(row.total / whole)),
                        h('td', { class: 'num wide-only' }, count(row.selfSamples)));
                }))),
            rows.length > most && most < kMostRows
                ? h('button', { attributes: { type: 'button' }, on: { click: () => change({ rows: String(kMostRows) }, true) } },
                    `${count(Math.min(rows.length, kMostRows) - most)} more`)
                : rows.length > most && h('p', { class: 'soft' }, `and ${count(rows.length - most)} more; search for them`),
            rows.length === 0 ? h('p', { class: 'empty' }, 'No function matches.') : null);
    }

    const toSandwich = (of: Tree) => (node: number): void => {
        const name = of.names[of.name[node] ?? -1];
        if (name !== undefined && name.kind !== 'thread') change({ function: name.text, dso: name.dso, zoom: null });
    };

    function heading(shown: Tree, from: Loaded): HTMLElement {
        const lost = from.found.profiles.flatMap((p) => p.events).filter((e) => e.name === shown.event).reduce((n, e) => n + e.lost, 0);
        const filtered = shown.total[0] !== shown.wholeWeight
            ? [` – ${percent((shown.total[0] ?? 0) / (shown.wholeWeight || 1))} of the whole, shares are of what is left`] : [];
        return h('header', { class: 'heading' },
            h('h2', {}, from.raw ? 'Flame graph of raw samples' : 'Flame graph'),
            h('span', {}, ...rangeLabel(from.found, from.range)),
            h('span', { class: 'soft' }, `${count(shown.samples[0] ?? 0)} samples of ${shown.event}, ${weightText(shown, shown.total[0] ?? 0)}`, ...filtered),
            lost > 0 ? h('span', { class: 'tag warn' }, `${count(lost)} samples lost`) : null);
    }

    function nothing(from: Loaded, shown: Tree): HTMLElement {
        const idle = shown.wholeWeight === 0;
        return empty(idle ? `No sample of ${shown.event || 'any event'} was taken while a CPU was busy.` : 'Nothing is left by these filters.',
            idle ? `${span(from.found.from, from.found.to)}.` : h('a', { attributes: { href: address('flame', { ...Object.fromEntries(currentRoute().params), comm: null, unit: null }) } }, 'Without filters'));
    }

    function drawWhole(shown: Tree, from: Loaded, params: URLSearchParams): void {
        const matched = h('span', { class: 'tag' });
        const panel = new FlamePanel('Flame graph', {
            zoom: (node) => {
                const { laidOut } = panel.graph;
                if (laidOut !== null) change({ zoom: zoomText(laidOut, node) });
            },
            menu: toSandwich(shown),
        });
        panels.push(panel);
        panel.rest = 'Point at a frame; click to zoom, double-click for its callers and callees.';
        panel.show(shown);
        const functions = h('div');
        const refine = (now: URLSearchParams): void => {
            const { laidOut } = panel.graph;
            panel.graph.setIcicle(now.get('view') === 'icicle');
            const wanted = pattern(now.get('search') ?? '');
            applySearch(now.get('search') ?? '');
            const hits = wanted === null ? null : Uint8Array.from(shown.names, (name) => (wanted.test(name.text) ? 1 : 0));
            panel.graph.setMatches(hits);
            matched.hidden = hits === null;
            if (hits !== null && laidOut !== null) {
                const weight = matchedWeight(laidOut, (name) => hits[name] === 1);
                matched.textContent = `matched ${smallPercent(weight / (shown.total[0] || 1))}`;
            }
            if (laidOut !== null) panel.graph.zoom(zoomNode(laidOut, now.get('zoom') ?? ''));
            replace(functions, table(shown, now, wanted));
        };
        refineNow = refine;
        const reset = h('button', { attributes: { type: 'button' }, on: { click: () => change({ zoom: null }) } }, 'reset zoom');
        replace(place, heading(shown, from), chooser(params, from, shown),
            h('div', { class: 'bar' }, matched, h('span', { class: 'grow' }), reset,
                exports(shown, from, panel, `perfvigil: ${shown.event}, ${span(from.found.from, from.found.to)}`)),
            panel.element, warningsOf(from.found) ?? '', h('h3', {}, 'Functions'), functions);
        refine(params);
    }

    function drawSandwich(shown: Tree, from: Loaded, params: URLSearchParams): void {
        const text = params.get('function') ?? '';
        const dso = params.get('dso');
        const number = shown.names.findIndex((name) => name.text === text && (dso === null || name.dso === dso));
        const back = h('a', { attributes: { href: address('flame', { ...Object.fromEntries(params), function: null, dso: null, zoom: null }) } }, '← the whole graph');
        if (number < 0) {
            replace(place, heading(shown, from), chooser(params, from, shown),
                empty(`“${text}” has no sample here.`, back));
            return;
        }
        const { callers, callees } = sandwich(shown, number);
        const own = functionRows(shown).find((row) => row.name === number);
        const whole = shown.total[0] || 1;
        const make = (label: string, of: Tree, icicle: boolean): FlamePanel => {
            const panel = new FlamePanel(label, { menu: toSandwich(of) });
            panels.push(panel);
            panel.show(of);
            panel.graph.setIcicle(icicle);
            return panel;
        };
        const above = make(`Callers of ${text}`, callers, false);
        const below = make(`Callees of ${text}`, callees, true);
        replace(place, heading(shown, from), chooser(params, from, shown), h('div', { class: 'bar' }, back),
            h('p', { class: 'mono' }, text, ' ', h('span', { class: 'soft' }, shown.names[number]?.dso ?? '')),
            h('p', {}, `${smallPercent((own?.total ?? 0) / whole)} in all, ${smallPercent((own?.self ?? 0) / whole)} itself.`),
            h('h3', {}, 'Callers ', h('span', { class: 'soft' }, 'towards the top: who called whom; width is time in this function')), above.element,
            h('h3', {}, 'Callees ', h('span', { class: 'soft' }, 'towards the bottom')), below.element);
        refineNow = () => undefined;
    }

    let refineNow: (params: URLSearchParams) => void = () => undefined;

    // What needs another tree; the rest is refined in place.
    const keyOf = (params: URLSearchParams): string =>
        JSON.stringify(['event', 'comm', 'unit', 'threads', 'function', 'dso'].map((name) => params.get(name)));

    function draw(params: URLSearchParams): void {
        if (loaded === null) return;
        const key = keyOf(params);
        if (key === shownKey) {
            refineNow(params);
            return;
        }
        shownKey = key;
        closePanels();
        const unit = params.get('unit');
        const comm = params.get('comm');
        const event = chosenEvent(loaded.found.profiles, params.get('event') ?? undefined);
        tree = buildTree(loaded.found.profiles, {
            event,
            threads: params.get('threads') !== 'off',
            ...(unit ? { systemdUnit: unit } : {}),
            ...(comm ? { comm } : {}),
        });
        if ((tree.total[0] ?? 0) === 0) {
            replace(place, heading(tree, loaded), chooser(params, loaded, tree), nothing(loaded, tree), warningsOf(loaded.found) ?? '');
            refineNow = (now) => applySearch(now.get('search') ?? '');
            return;
        }
        if (params.get('function') !== null) drawSandwich(tree, loaded, params);
        else drawWhole(tree, loaded, params);
    }

    return {
        title: 'Flame graph',
        element,
        update: (params) => {
            timeline.update(params);
            const range = rangeOf(params);
            const raw = params.get('raw') === 'true' && range !== null;
            const key = JSON.stringify([range, params.get('window'), raw]);
            if (key === loadedKey && loaded !== null) return draw(params);
            timeline.mark(range === null ? [] : [{ range }]);
            loadedKey = key;
            loaded = null;
            closePanels();
            const begun = performance.now();
            void loader.run('Loading profiles.', async (signal) => {
                const found = await find({ range, window: params.get('window'), raw }, signal);
                if (found === null) return [await whyNothing(range, signal)];
                loaded = { found, range, raw };
                shownKey = '';
                if (range === null) timeline.mark([{ range: { from: found.from, to: found.to } }]);
                return [];
            }).then(() => {
                if (loaded === null) return;
                draw(currentRoute().params);
                const [first] = panels;
                if (first !== undefined) first.graph.onPainted = () => performance.measure('flame graph', { start: begun });
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
