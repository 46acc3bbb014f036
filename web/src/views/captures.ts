// SPDX-License-Identifier: GPL-2.0-or-later
// What is kept of raw captures and why, and the exact command that starts another one: the page itself changes nothing.
import { ApiError, getJson, getStatus, type Status } from '../api.js';
import { copyText, h, replace, type Child } from '../dom.js';
import { bytes, isoTime, span } from '../format.js';
import { card, empty, Loader } from '../parts.js';
import { address, change } from '../route.js';
import type { View } from '../view.js';

interface Frozen {
    id: string;
    reason: 'request' | 'rule';
    rule?: string;
    label: string;
    who: string;
    start: string;
    end: string;
    bytes: number;
    evidence?: { message: string };
    captured?: string;
}

interface FrozenList {
    frozen: Frozen[];
    bytes: number;
    bytes_limit: number;
}

// What the command line takes as one word.
export function shellWord(text: string): string {
    return /^[A-Za-z0-9_@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

const kTargets = [
    { value: 'all', text: 'the whole host', option: '-a', hint: '' },
    { value: 'pid', text: 'processes', option: '-p', hint: '1234' },
    { value: 'unit', text: 'a systemd unit', option: '--unit', hint: 'nginx.service' },
    { value: 'cgroup', text: 'a control group', option: '--cgroup', hint: '/system.slice/x' },
    { value: 'cpu', text: 'CPUs', option: '-C', hint: '0-3' },
] as const;

export function captureCommand(params: URLSearchParams): string {
    const words = ['perfvigil', 'capture', '-d', params.get('duration') || '10s', '-F', params.get('rate') || '999'];
    const target = kTargets.find((one) => one.value === params.get('target')) ?? kTargets[0];
    words.push(target.option);
    if (target.value !== 'all') words.push(shellWord(params.get('of') || target.hint));
    const chains = params.get('chains');
    if (chains === 'dwarf' || chains === 'none') words.push('--call-graph', chains);
    const label = params.get('label');
    if (label) words.push('--label', shellWord(label));
    const file = params.get('file');
    if (file) words.push('-o', shellWord(file));
    return words.join(' ');
}

function command(text: () => string): { element: HTMLElement; refresh: () => void } {
    const code = h('code', { attributes: { tabindex: 0 } }, text());
    const copy = h(
        'button',
        { class: 'main', attributes: { type: 'button' }, on: { click: () => void copyText(text(), copy) } },
        'copy',
    );
    return { element: h('div', { class: 'command' }, code, copy), refresh: () => (code.textContent = text()) };
}

function frozenTable(list: FrozenList): Child {
    if (list.frozen.length === 0) {
        return empty(
            'Nothing is frozen.',
            'A rule of the configuration, or ',
            h('code', {}, 'perfvigil freeze'),
            ', keeps the captures of the last minutes from being rotated away.',
        );
    }
    return h(
        'div',
        { class: 'scroll', attributes: { tabindex: 0, role: 'region', 'aria-label': 'frozen captures' } },
        h(
            'table',
            {},
            h(
                'thead',
                {},
                h(
                    'tr',
                    {},
                    ...['when', 'why', 'label', 'size', ''].map((text) =>
                        h('th', { attributes: { scope: 'col' } }, text),
                    ),
                ),
            ),
            h(
                'tbody',
                {},
                ...[...list.frozen].reverse().map((one) => {
                    const from = Date.parse(one.start);
                    const to = Date.parse(one.end);
                    return h(
                        'tr',
                        {},
                        h('td', {}, span(from, to)),
                        h(
                            'td',
                            {},
                            one.reason === 'rule'
                                ? h('span', { class: 'tag warn' }, one.rule ?? 'rule')
                                : h('span', { class: 'tag' }, 'asked for'),
                            ' ',
                            one.evidence?.message ?? one.who,
                            one.captured ? h('div', { class: 'soft' }, one.captured) : null,
                        ),
                        h('td', {}, one.label),
                        h('td', { class: 'num' }, bytes(one.bytes)),
                        h(
                            'td',
                            {},
                            h(
                                'a',
                                {
                                    attributes: {
                                        href: address('heat', {
                                            from: isoTime(Math.max(from, to - 600e3)),
                                            to: isoTime(to),
                                        }),
                                    },
                                },
                                'heat map',
                            ),
                            ' ',
                            h(
                                'a',
                                { attributes: { href: address('flame', { from: isoTime(from), to: isoTime(to) }) } },
                                'flame graph',
                            ),
                        ),
                    );
                }),
            ),
        ),
    );
}

async function frozenList(signal: AbortSignal): Promise<FrozenList | string> {
    try {
        return await getJson<FrozenList>('/v1/frozen', signal);
    } catch (error) {
        // A daemon that freezes nothing is no trouble of the page.
        if (error instanceof ApiError && error.trouble === 'refused') return error.message;
        throw error;
    }
}

function kept(status: Status): HTMLElement {
    const { captures } = status;
    if (!captures.enabled) {
        return h(
            'p',
            {},
            'No raw captures are kept: ',
            h('code', {}, 'captures.enabled'),
            ' is false, or a capture is replayed.',
        );
    }
    return h(
        'div',
        {},
        h(
            'dl',
            { class: 'facts' },
            h('dt', {}, 'files'),
            h('dd', {}, String(captures.count)),
            h('dt', {}, 'size'),
            h('dd', {}, `${bytes(captures.bytes)} of ${bytes(captures.bytes_limit)}`),
            h('dt', {}, 'folder'),
            h('dd', { class: 'mono' }, captures.dir),
            h('dt', {}, 'being written'),
            h('dd', { class: 'mono' }, captures.file || '–'),
        ),
        h('p', {}, h('a', { attributes: { href: address('heat') } }, 'Heat map of the last minutes')),
    );
}

export function capturesView(): View {
    const form = h('form', { class: 'form', on: { submit: (event: Event) => event.preventDefault() } });
    let params = new URLSearchParams();
    const shown = command(() => captureCommand(params));
    const freeze = command(() => `perfvigil freeze --label ${shellWord(params.get('label') || 'what happened')}`);
    const place = h('div', { class: 'column' });
    const loader = new Loader(place);
    const element = h(
        'div',
        { class: 'grid' },
        card(
            'w12',
            'Start a capture',
            'a recording of higher rate beside the daemon’s own; it says its cost first',
            form,
            shown.element,
            h(
                'p',
                { class: 'soft' },
                'To be run on the host, by root or a member of the group perfvigil. Ctrl-C ends it and keeps what was recorded.',
            ),
        ),
        place,
    );

    function field(name: string, label: string, hint: string, listed?: { value: string; text: string }[]): HTMLElement {
        const onChange = (event: Event): void => change({ [name]: (event.target as HTMLInputElement).value }, true);
        const input =
            listed === undefined
                ? h('input', {
                      attributes: { name, placeholder: hint, value: params.get(name) ?? '', autocomplete: 'off' },
                      on: { input: onChange },
                  })
                : h(
                      'select',
                      { attributes: { name }, on: { change: onChange } },
                      ...listed.map(({ value, text }) =>
                          h('option', { attributes: { value, selected: value === (params.get(name) ?? '') } }, text),
                      ),
                  );
        return h('label', {}, label, input);
    }

    function fields(): void {
        const target = kTargets.find((one) => one.value === params.get('target')) ?? kTargets[0];
        replace(
            form,
            field(
                'target',
                'of',
                '',
                kTargets.map(({ value, text }) => ({ value, text })),
            ),
            target.value === 'all' ? null : field('of', `which ${target.text.replace(/^a /, '')}`, target.hint),
            field('duration', 'for', '10s'),
            field('rate', 'samples per second', '999'),
            field('chains', 'callers of user code', '', [
                { value: '', text: 'by frame pointer' },
                { value: 'dwarf', text: 'by DWARF' },
                { value: 'none', text: 'none' },
            ]),
            field('label', 'label', 'why'),
            field('file', 'write the file too', 'app.perf.data'),
        );
    }

    let shownTarget: string | null | undefined;
    void loader.run('Asking what is kept.', async (signal) => {
        const [status, frozen] = await Promise.all([getStatus(signal), frozenList(signal)]);
        return [
            card(
                '',
                'Frozen',
                typeof frozen === 'string' ? '' : `${bytes(frozen.bytes)} of ${bytes(frozen.bytes_limit)}`,
                typeof frozen === 'string' ? h('p', { class: 'soft' }, frozen) : frozenTable(frozen),
                h('p', { class: 'soft' }, 'To keep the last minutes as they are:'),
                freeze.element,
            ),
            card('', 'Kept raw captures', 'rotated: the oldest go first', kept(status)),
        ];
    });
    return {
        title: 'Captures',
        element,
        update: (now) => {
            params = now;
            if (shownTarget !== now.get('target')) {
                shownTarget = now.get('target');
                fields();
            }
            shown.refresh();
            freeze.refresh();
        },
        repaint: () => undefined,
        close: () => loader.stop(),
    };
}
