// SPDX-License-Identifier: GPL-2.0-or-later
// The flame graph of any window or stretch of time, its functions, and callers and callees of one of them.
import { h, replace } from '../dom.js';
import { matchedWeight } from '../flame/layout.js';
import { FlamePanel } from '../flame/panel.js';
import { pattern, zoomNode, zoomText } from '../flame/zoom.js';
import { smallPercent, span } from '../format.js';
import { card, empty, Loader } from '../parts.js';
import { find, rangeOf, rangeParams } from '../profile/source.js';
import { buildTree, chosenEvent, functionRows, sandwich, type Tree } from '../profile/tree.js';
import { address, change, currentRoute } from '../route.js';
import { Timeline } from '../timeline.js';
import type { View } from '../view.js';
import { chooser, exports, heading, nothing, warningsOf, whyNothing, type Loaded } from './flame_controls.js';
import { functionTable } from './function_table.js';

export function flameView(): View {
    const timeline = new Timeline(
        'Busy share of the host over time; drag to choose what the flame graph shows',
        (range) => change({ ...rangeParams(range), window: null, zoom: null, raw: null }),
    );
    const place = h('div');
    const loader = new Loader(place);
    const element = h(
        'div',
        { class: 'grid' },
        card('w12', 'When', 'what the daemon keeps', timeline.element),
        h('div', { class: 'card' }, place),
    );
    let panels: FlamePanel[] = [];
    let loadedKey = '';
    let shownKey = '';
    let loaded: Loaded | null = null;
    let tree: Tree | null = null;

    const closePanels = (): void => {
        for (const panel of panels) panel.close();
        panels = [];
    };

    const toSandwich =
        (of: Tree) =>
        (node: number): void => {
            const name = of.names[of.name[node] ?? -1];
            if (name !== undefined && name.kind !== 'thread')
                change({ function: name.text, dso: name.dso, zoom: null });
        };

    function drawWhole(shown: Tree, from: Loaded, params: URLSearchParams): void {
        const chosen = chooser(params, from, shown);
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
            chosen.setSearch(now.get('search') ?? '');
            const hits =
                wanted === null ? null : Uint8Array.from(shown.names, (name) => (wanted.test(name.text) ? 1 : 0));
            panel.graph.setMatches(hits);
            matched.hidden = hits === null;
            if (hits !== null && laidOut !== null) {
                const weight = matchedWeight(laidOut, (name) => hits[name] === 1);
                matched.textContent = `matched ${smallPercent(weight / (shown.total[0] || 1))}`;
            }
            if (laidOut !== null) panel.graph.zoom(zoomNode(laidOut, now.get('zoom') ?? ''));
            replace(functions, functionTable(shown, now, wanted));
        };
        refineNow = refine;
        const reset = h(
            'button',
            { attributes: { type: 'button' }, on: { click: () => change({ zoom: null }) } },
            'reset zoom',
        );
        replace(
            place,
            heading(shown, from),
            chosen.element,
            h(
                'div',
                { class: 'bar' },
                matched,
                h('span', { class: 'grow' }),
                reset,
                exports(shown, from, panel, `perfvigil: ${shown.event}, ${span(from.found.from, from.found.to)}`),
            ),
            panel.element,
            warningsOf(from.found) ?? '',
            h('h3', {}, 'Functions'),
            functions,
        );
        refine(params);
    }

    function drawSandwich(shown: Tree, from: Loaded, params: URLSearchParams): void {
        const chosen = chooser(params, from, shown);
        const text = params.get('function') ?? '';
        const dso = params.get('dso');
        const number = shown.names.findIndex((name) => name.text === text && (dso === null || name.dso === dso));
        const back = h(
            'a',
            {
                attributes: {
                    href: address('flame', { ...Object.fromEntries(params), function: null, dso: null, zoom: null }),
                },
            },
            '← the whole graph',
        );
        if (number < 0) {
            replace(place, heading(shown, from), chosen.element, empty(`“${text}” has no sample here.`, back));
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
        replace(
            place,
            heading(shown, from),
            chosen.element,
            h('div', { class: 'bar' }, back),
            h('p', { class: 'mono' }, text, ' ', h('span', { class: 'soft' }, shown.names[number]?.dso ?? '')),
            h(
                'p',
                {},
                `${smallPercent((own?.total ?? 0) / whole)} in all, ${smallPercent((own?.self ?? 0) / whole)} itself.`,
            ),
            h(
                'h3',
                {},
                'Callers ',
                h('span', { class: 'soft' }, 'towards the top: who called whom; width is time in this function'),
            ),
            above.element,
            h('h3', {}, 'Callees ', h('span', { class: 'soft' }, 'towards the bottom')),
            below.element,
        );
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
            const chosen = chooser(params, loaded, tree);
            replace(
                place,
                heading(tree, loaded),
                chosen.element,
                nothing(loaded, tree),
                warningsOf(loaded.found) ?? '',
            );
            refineNow = (now) => chosen.setSearch(now.get('search') ?? '');
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
            void loader
                .run('Loading profiles.', async (signal) => {
                    const found = await find({ range, window: params.get('window'), raw }, signal);
                    if (found === null) return [await whyNothing(range, signal)];
                    loaded = { found, range, raw };
                    shownKey = '';
                    if (range === null) timeline.mark([{ range: { from: found.from, to: found.to } }]);
                    return [];
                })
                .then(() => {
                    if (loaded === null) return;
                    draw(currentRoute().params);
                    const [first] = panels;
                    if (first !== undefined)
                        first.graph.onPainted = () => performance.measure('flame graph', { start: begun });
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
