// SPDX-License-Identifier: GPL-2.0-or-later
// The functions of a flame graph, heaviest first: what it shows, in words.
import { h } from '../dom.js';
import { baseName, count, smallPercent } from '../format.js';
import { chip } from '../parts.js';
import { colourOf } from '../profile/kind.js';
import { functionRows, type Tree } from '../profile/tree.js';
import { address, change } from '../route.js';

const kRows = 30;
const kMostRows = 1000;

export function functionTable(shown: Tree, params: URLSearchParams, filter: RegExp | null): HTMLElement {
    const rows = functionRows(shown).filter((row) => filter === null || filter.test(shown.names[row.name]?.text ?? ''));
    const whole = shown.total[0] || 1;
    const most = params.get('rows') === null ? kRows : kMostRows;
    return h(
        'div',
        { class: 'scroll', attributes: { tabindex: 0, role: 'region', 'aria-label': 'functions' } },
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
                    h('th', { class: 'num', attributes: { scope: 'col' } }, 'self'),
                    h('th', { class: 'num', attributes: { scope: 'col' } }, 'total'),
                    h('th', { class: 'num wide-only', attributes: { scope: 'col' } }, 'samples'),
                ),
            ),
            h(
                'tbody',
                {},
                ...rows.slice(0, most).map((row) => {
                    const name = shown.names[row.name];
                    if (name === undefined) return null;
                    return h(
                        'tr',
                        {},
                        h(
                            'td',
                            { class: 'name', title: `${name.text}\n${name.dso}` },
                            chip(colourOf(name.kind, name.text)),
                            h(
                                'a',
                                {
                                    attributes: {
                                        href: address('flame', {
                                            ...Object.fromEntries(params),
                                            function: name.text,
                                            dso: name.dso,
                                            zoom: null,
                                        }),
                                    },
                                },
                                name.text,
                            ),
                        ),
                        h('td', { class: 'dso wide-only', title: name.dso }, baseName(name.dso)),
                        h('td', { class: 'num' }, smallPercent(row.self / whole)),
                        h('td', { class: 'num' }, smallPercent(row.total / whole)),
                        h('td', { class: 'num wide-only' }, count(row.selfSamples)),
                    );
                }),
            ),
        ),
        rows.length > most && most < kMostRows
            ? h(
                  'button',
                  {
                      attributes: { type: 'button' },
                      on: { click: () => change({ rows: String(kMostRows) }, true) },
                  },
                  `${count(Math.min(rows.length, kMostRows) - most)} more`,
              )
            : rows.length > most && h('p', { class: 'soft' }, `and ${count(rows.length - most)} more; search for them`),
        rows.length === 0 ? h('p', { class: 'empty' }, 'No function matches.') : null,
    );
}
