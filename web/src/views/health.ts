// SPDX-License-Identifier: GPL-2.0-or-later
// Whether the numbers hold and what they cost: the ledger, what the daemon does without, its own CPU time.
import type { Degraded } from '../api.js';
import { h, replace } from '../dom.js';
import { count, percent, seconds, smallPercent } from '../format.js';
import type { Ledger, Slice } from '../live.js';

const kTerms: { term: keyof Ledger; label: string; colour: string; about: string }[] = [
    { term: 'busy', label: 'busy', colour: 'user', about: 'samples of tasks' },
    { term: 'irq_in_idle', label: 'interrupts while idle', colour: 'softirq', about: 'samples' },
    { term: 'idle', label: 'idle', colour: 'idle', about: 'samples' },
    { term: 'idle_unsampled', label: 'idle, not sampled', colour: 'idle', about: '/proc/stat says so' },
    { term: 'stolen', label: 'stolen', colour: 'stolen', about: 'by the hypervisor, /proc/stat says so' },
    { term: 'lost', label: 'lost', colour: 'bad', about: 'samples that were taken and not delivered' },
    { term: 'throttled', label: 'throttled', colour: 'warn', about: 'the kernel stopped sampling' },
    { term: 'unexplained', label: 'unexplained', colour: 'unknown', about: 'what nothing accounts for' },
];

function sum(slices: Slice[]): Ledger {
    const all: Ledger = {
        total: 0,
        busy: 0,
        idle: 0,
        irq_in_idle: 0,
        lost: 0,
        throttled: 0,
        idle_unsampled: 0,
        stolen: 0,
        unexplained: 0,
    };
    for (const slice of slices) {
        for (const term of Object.keys(all) as (keyof Ledger)[]) all[term] += slice.ledger[term];
    }
    return all;
}

export function ledgerCard(place: HTMLElement, slices: Slice[]): void {
    const lately = slices.slice(-12);
    const ledger = sum(lately);
    const total = ledger.total || 1;
    const lost = lately.reduce((all, slice) => all + slice.events.reduce((n, event) => n + event.lost, 0), 0);
    const late = lately.reduce((all, slice) => all + slice.late_records, 0);
    const suspect = lately.filter((slice) => slice.maps_suspect).length;
    const open = Math.abs(ledger.unexplained) / total;
    const lossy = ledger.lost / total;
    const verdict = lossy > 0.01 || open > 0.05 ? 'bad' : lossy > 0.001 || open > 0.02 || suspect > 0 ? 'warn' : 'good';
    const words = {
        good: 'All time is accounted for.',
        warn: 'Almost all time is accounted for.',
        bad:
            lossy > 0.01
                ? 'Samples are being lost: the busiest functions are undercounted most.'
                : 'Some time is not accounted for.',
    };
    replace(
        place,
        h(
            'header',
            {},
            h('h2', {}, 'Ledger'),
            h(
                'span',
                { class: `tag ${verdict}` },
                verdict === 'good' ? 'healthy' : verdict === 'warn' ? 'look' : 'trouble',
            ),
            h(
                'span',
                { class: 'soft' },
                `last ${seconds(lately.reduce((all, slice) => all + slice.duration_seconds, 0))}, all CPUs`,
            ),
        ),
        h('p', {}, words[verdict]),
        h(
            'div',
            { class: 'split', attributes: { role: 'img', 'aria-label': 'how the time divides; in words below' } },
            ...kTerms.map(({ term, colour }) =>
                h('span', {
                    style: { width: `${(Math.max(ledger[term], 0) / total) * 100}%`, background: `var(--${colour})` },
                }),
            ),
        ),
        h(
            'table',
            {},
            h(
                'tbody',
                {},
                ...kTerms
                    .filter(({ term }) => term === 'unexplained' || Math.abs(ledger[term]) > 0)
                    .map(({ term, label, about }) =>
                        h(
                            'tr',
                            {},
                            h('td', {}, label, ' ', h('span', { class: 'soft' }, about)),
                            h('td', { class: 'num' }, smallPercent(ledger[term] / total)),
                        ),
                    ),
            ),
        ),
        h(
            'p',
            { class: 'soft' },
            `${count(lost)} samples lost, ${count(late)} records late`,
            suspect > 0 ? `, mappings unsure in ${suspect} slices` : '',
            '.',
        ),
    );
}

export function costCard(place: HTMLElement, slice: Slice): void {
    const heading = h('header', {}, h('h2', {}, 'What profiling costs'));
    const { cost } = slice;
    if (cost === undefined) {
        replace(place, heading, h('p', { class: 'soft' }, 'Nothing: a capture is replayed.'));
        return;
    }
    const all = cost.processes + cost.kernel;
    replace(
        place,
        heading,
        h('div', { class: 'figure' }, smallPercent(all), h('small', {}, ' of this host')),
        h(
            'dl',
            { class: 'facts' },
            h('dt', {}, 'perfvigild itself'),
            h('dd', {}, smallPercent(cost.processes)),
            h('dt', {}, 'the kernel, for samples'),
            h('dd', {}, smallPercent(cost.kernel), cost.assumed ? ' (cost of a sample assumed)' : ''),
            cost.captures > 0 ? h('dt', {}, 'captures on demand') : null,
            cost.captures > 0 ? h('dd', {}, smallPercent(cost.captures)) : null,
            h('dt', {}, 'budget'),
            h('dd', {}, percent(cost.budget)),
        ),
        cost.budget > 0 && all > cost.budget ? h('p', { class: 'tag warn' }, 'over budget in this slice') : null,
    );
}

export function degradedCard(place: HTMLElement, degraded: Degraded[]): void {
    replace(
        place,
        h(
            'header',
            {},
            h('h2', {}, 'What it does without'),
            h('span', { class: 'soft' }, degraded.length === 0 ? '' : `${degraded.length}`),
        ),
        degraded.length === 0
            ? h('p', { class: 'soft' }, 'Nothing: everything that a complete profile needs is there.')
            : h(
                  'ul',
                  { class: 'degraded' },
                  ...degraded.map((one) =>
                      h(
                          'li',
                          {},
                          h('div', {}, h('span', { class: 'tag warn' }, one.reason), ' ', one.detail),
                          one.remedy !== '' && h('div', { class: 'remedy' }, '→ ', one.remedy),
                      ),
                  ),
              ),
    );
}
