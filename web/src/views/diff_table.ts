// SPDX-License-Identifier: GPL-2.0-or-later
// The daemon's comparison (docs/diff-json.md) as a verdict and a table, each change with its interval.
import { h, svg } from '../dom.js';
import { baseName, count, percent, smallPercent } from '../format.js';
import { address, change } from '../route.js';

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

export interface EventDiff {
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

export interface DiffAnswer {
    changed: boolean;
    events: EventDiff[];
}

const kRows = 40;

export const points = (share: number): string =>
    `${share > 0 ? '+' : share < 0 ? '−' : ''}${Math.abs(share * 100).toFixed(2)}`;

// The change with its interval on one scale for all rows.
function whisker(c: Change, reach: number, significant: boolean): SVGElement {
    const x = (value: number): number => 85 + (Math.max(-reach, Math.min(reach, value)) / (reach || 1)) * 80;
    const colour = !significant ? 'var(--soft)' : c.change > 0 ? 'var(--bad)' : 'var(--link)';
    return svg(
        'svg',
        {
            class: 'whisker',
            viewBox: '0 0 170 16',
            role: 'img',
            'aria-label': `${points(c.change)} points, between ${points(c.low)} and ${points(c.high)}`,
        },
        svg('line', { x1: 85, x2: 85, y1: 0, y2: 16, stroke: 'var(--edge)' }),
        svg('line', { x1: x(c.low), x2: x(c.high), y1: 8, y2: 8, stroke: colour, 'stroke-width': 2 }),
        svg('circle', { cx: x(c.change), cy: 8, r: 3.5, fill: colour }),
    );
}

export function verdict(diff: EventDiff): HTMLElement {
    const up = diff.rows.filter((row) => row.significant && row.share.change > 0).length;
    const down = diff.significant - up;
    if (diff.significant > 0) {
        return h(
            'div',
            { class: 'notice warn' },
            h(
                'p',
                {},
                h('strong', {}, `${diff.significant} of ${diff.tested} changed`),
                `: ${up} took more, ${down} took less.`,
            ),
            h('p', { class: 'soft' }, 'Of what is listed as changed, one in twenty may be chance.'),
        );
    }
    const found = diff.detectable.map(
        ({ share, change: size }) => `${percent(share, share < 0.05 ? 1 : 0)} by ${(size * 100).toFixed(1)} points`,
    );
    return h(
        'div',
        { class: 'notice' },
        h('p', {}, h('strong', {}, 'Nothing changed that these samples could show.')),
        h(
            'p',
            {},
            found.length === 0
                ? 'Neither side has enough samples to judge a function by.'
                : `They would have shown a change, four times in five, of a function with a share of ${found.join(', of ')}. Longer stretches show smaller changes.`,
        ),
    );
}

export function diffTable(diff: EventDiff, all: boolean, range: Record<string, string>): HTMLElement {
    const rows = diff.rows.slice(0, all ? undefined : kRows);
    const reach = Math.max(
        ...rows
            .filter((row) => row.tested)
            .slice(0, 25)
            .map((row) => Math.max(Math.abs(row.share.low), Math.abs(row.share.high))),
        0.001,
    );
    const names = diff.by === 'function' || diff.by === 'total';
    return h(
        'div',
        { class: 'scroll', attributes: { tabindex: 0, role: 'region', 'aria-label': 'changes' } },
        h(
            'table',
            {},
            h(
                'thead',
                {},
                h(
                    'tr',
                    {},
                    h(
                        'th',
                        { attributes: { scope: 'col' } },
                        diff.by === 'total' ? 'function, with its callees' : diff.by === 'comm' ? 'thread' : diff.by,
                    ),
                    h('th', { class: 'num', attributes: { scope: 'col' } }, 'before'),
                    h('th', { class: 'num', attributes: { scope: 'col' } }, 'after'),
                    h('th', { class: 'num', attributes: { scope: 'col' } }, 'points'),
                    h('th', { class: 'wide-only', attributes: { scope: 'col' } }, '95 % interval'),
                    h('th', { attributes: { scope: 'col' } }, ''),
                ),
            ),
            h(
                'tbody',
                {},
                ...rows.map((row) =>
                    h(
                        'tr',
                        {},
                        h(
                            'td',
                            {
                                class: 'name',
                                title: `${row.name}${row.dso ? `\n${row.dso}` : ''}\n${count(row.samples_before)} and ${count(row.samples_after)} samples`,
                            },
                            names
                                ? h(
                                      'a',
                                      {
                                          attributes: {
                                              href: address('flame', {
                                                  ...range,
                                                  function: row.name,
                                                  dso: row.dso ?? null,
                                              }),
                                          },
                                      },
                                      row.name,
                                  )
                                : row.name || '(none)',
                            row.dso ? h('span', { class: 'soft' }, `  ${baseName(row.dso)}`) : null,
                        ),
                        h('td', { class: 'num' }, smallPercent(row.share.before)),
                        h('td', { class: 'num' }, smallPercent(row.share.after)),
                        h('td', { class: 'num' }, points(row.share.change)),
                        h(
                            'td',
                            {
                                class: 'wide-only',
                                title: `${points(row.share.low)} to ${points(row.share.high)} points`,
                            },
                            row.tested
                                ? whisker(row.share, reach, row.significant)
                                : h('span', { class: 'soft' }, 'too few samples'),
                        ),
                        h(
                            'td',
                            {},
                            row.significant
                                ? h(
                                      'span',
                                      { class: `tag ${row.share.change > 0 ? 'bad' : 'good'}` },
                                      row.share.change > 0 ? 'more' : 'less',
                                  )
                                : h('span', { class: 'soft' }, 'may be chance'),
                        ),
                    ),
                ),
            ),
        ),
        !all && diff.rows.length > kRows
            ? h(
                  'button',
                  { attributes: { type: 'button' }, on: { click: () => change({ rows: 'all' }, true) } },
                  `${diff.rows.length - kRows} more`,
              )
            : null,
    );
}
