// SPDX-License-Identifier: GPL-2.0-or-later
// The page: a head with the ways to its views, and the view that the address names.
import { append, h, replace } from './dom.js';
import { clock } from './format.js';
import { Live } from './live.js';
import { empty } from './parts.js';
import { currentRoute } from './route.js';
import { theme, toggleTheme, watchTheme } from './theme.js';
import type { MakeView, View } from './view.js';
import { capturesView } from './views/captures.js';
import { diffView } from './views/diff.js';
import { flameView } from './views/flame.js';
import { heatView } from './views/heat.js';
import { nowView } from './views/now.js';

const kViews: { name: string; label: string; make: MakeView }[] = [
    { name: 'now', label: 'Now', make: nowView },
    { name: 'flame', label: 'Flame graph', make: flameView },
    { name: 'diff', label: 'Diff', make: diffView },
    { name: 'heat', label: 'Heat map', make: heatView },
    { name: 'captures', label: 'Captures', make: capturesView },
];

function main(): void {
    const live = new Live();
    let shown: { name: string; view: View } | null = null;

    const links = new Map(
        kViews.map(({ name, label }) => [name, h('a', { attributes: { href: `#/${name}` } }, label)]),
    );
    const hostName = h('strong');
    const dot = h('span', { class: 'dot' });
    const word = h('span');
    const state = h('span', { class: 'state', attributes: { role: 'status' } }, dot, word);
    const themeButton = h('button', {
        attributes: { type: 'button' },
        on: {
            click: () => {
                toggleTheme();
                repaint();
            },
        },
    });
    const content = h('main', { attributes: { id: 'content', tabindex: -1 } });
    const head = h(
        'header',
        { class: 'head' },
        h(
            'a',
            { class: 'brand', attributes: { href: '#/now' } },
            h('img', { attributes: { src: '/icon.svg', alt: '' } }),
            'perfvigil',
        ),
        h('nav', { attributes: { 'aria-label': 'views' } }, ...links.values()),
        h('div', { class: 'right' }, hostName, state, themeButton),
    );
    const skip = h(
        'a',
        {
            class: 'skip',
            attributes: { href: '#content' },
            on: {
                click: (event: Event) => {
                    event.preventDefault();
                    content.focus();
                },
            },
        },
        'to the content',
    );
    append(document.body, skip, head, content);

    function repaint(): void {
        themeButton.textContent = theme() === 'dark' ? 'light' : 'dark';
        themeButton.setAttribute('aria-label', `use ${themeButton.textContent} colours`);
        shown?.view.repaint();
    }

    function route(): void {
        const { view: name, params } = currentRoute();
        for (const [key, link] of links) {
            if (key === name) link.setAttribute('aria-current', 'page');
            else link.removeAttribute('aria-current');
        }
        if (shown === null || shown.name !== name) {
            shown?.view.close();
            shown = null;
            const found = kViews.find((one) => one.name === name);
            if (found === undefined) {
                replace(
                    content,
                    empty('There is no such view.', h('a', { attributes: { href: '#/now' } }, 'What happens now')),
                );
                document.title = 'perfvigil';
                return;
            }
            shown = { name, view: found.make(live) };
            replace(content, h('h1', { class: 'hidden-text' }, shown.view.title), shown.view.element);
            scrollTo(0, 0);
        }
        document.title = `${shown.view.title} – ${live.head?.host ?? 'perfvigil'}`;
        shown.view.update(params);
    }

    live.listen(() => {
        const { connection, head: facts, newest } = live;
        dot.className = `dot ${connection === 'live' && facts?.state !== 'ended' ? 'live' : connection}`;
        if (connection === 'live' && facts?.state === 'ended') dot.className = 'dot';
        const at = newest === undefined ? '' : clock(Date.parse(newest.end));
        const words: Record<typeof connection, string> = {
            connecting: 'connecting',
            live: facts?.state === 'ended' ? `replay ended at ${at}` : `${facts?.state ?? ''} ${at}`,
            gone: 'daemon gone',
            locked: 'session ended',
        };
        word.textContent = words[connection];
        hostName.textContent = facts?.host ?? '';
        document.body.classList.toggle('stale', connection === 'gone' || connection === 'locked');
        if (shown !== null) document.title = `${shown.view.title} – ${facts?.host ?? 'perfvigil'}`;
    });

    watchTheme(repaint);
    repaint();
    addEventListener('hashchange', route);
    addEventListener('keydown', (event) => {
        const target = event.target as HTMLElement;
        if (event.key !== '/' || /^(INPUT|SELECT|TEXTAREA)$/.test(target.tagName)) return;
        const search = document.querySelector<HTMLInputElement>('input[type="search"]');
        if (search === null) return;
        event.preventDefault();
        search.focus();
    });
    live.start();
    route();
}

main();
