// SPDX-License-Identifier: GPL-2.0-or-later
// Pieces that more than one view is made of.
import { ApiError } from './api.js';
import { h, replace, type Child } from './dom.js';

export function card(width: string, heading: string, aside: Child, ...content: Child[]): HTMLElement {
    return h(
        'section',
        { class: `card ${width}` },
        h('header', {}, h('h2', {}, heading), aside instanceof Node ? aside : h('span', { class: 'soft' }, aside)),
        ...content,
    );
}

export const waiting = (what: string): HTMLElement =>
    h('div', { class: 'empty waiting', attributes: { role: 'status' } }, what);

export const empty = (headline: string, ...more: Child[]): HTMLElement =>
    h('div', { class: 'empty' }, h('strong', {}, headline), ...more);

export function troubleOf(error: unknown): HTMLElement {
    if (error instanceof ApiError && error.trouble === 'locked') {
        return h(
            'div',
            { class: 'notice bad', attributes: { role: 'alert' } },
            h('p', {}, h('strong', {}, 'This session has ended.')),
            h('p', {}, 'Run ', h('code', {}, 'perfvigil web'), ' on the host and go to the address that it prints.'),
        );
    }
    const gone = error instanceof ApiError && error.trouble === 'gone';
    return h(
        'div',
        { class: 'notice bad', attributes: { role: 'alert' } },
        h('p', {}, h('strong', {}, gone ? 'The daemon does not answer.' : 'That did not work.')),
        h(
            'p',
            {},
            error instanceof Error ? error.message : String(error),
            gone ? ' It is asked again as soon as something changes here.' : '',
        ),
    );
}

// Fills `place` with what `make` comes to; the last call wins.
export class Loader {
    private control: AbortController | null = null;

    constructor(private readonly place: HTMLElement) {}

    run(what: string, make: (signal: AbortSignal) => Promise<Child[]>): Promise<void> {
        this.stop();
        const control = new AbortController();
        this.control = control;
        replace(this.place, waiting(what));
        this.place.setAttribute('aria-busy', 'true');
        return make(control.signal)
            .catch((error: unknown): Child[] => (control.signal.aborted ? [] : [troubleOf(error)]))
            .then((content) => {
                if (control.signal.aborted) return;
                replace(this.place, ...content);
                this.place.removeAttribute('aria-busy');
            });
    }

    stop(): void {
        this.control?.abort();
    }
}

export function select<T extends string>(
    label: string,
    values: { value: T; text: string }[],
    chosen: T,
    onChange: (value: T) => void,
): HTMLLabelElement {
    const list = h(
        'select',
        { on: { change: () => onChange(list.value as T) } },
        ...values.map(({ value, text }) => h('option', { attributes: { value, selected: value === chosen } }, text)),
    );
    return h('label', {}, label, list);
}

export function choice<T extends string>(
    label: string,
    values: { value: T; text: string }[],
    chosen: T,
    onChange: (value: T) => void,
): HTMLElement {
    return h(
        'div',
        { class: 'group', attributes: { role: 'group', 'aria-label': label } },
        ...values.map(({ value, text }) =>
            h(
                'button',
                {
                    attributes: { type: 'button', 'aria-pressed': value === chosen ? 'true' : 'false' },
                    on: { click: () => onChange(value) },
                },
                text,
            ),
        ),
    );
}

export function chip(colour: string): HTMLElement {
    return h('span', { class: 'chip', style: { background: colour } });
}

// Beside a place in the window, inside it.
export function tip(content: Child[], place: DOMRect): HTMLElement {
    const made = h('div', { class: 'tip', attributes: { role: 'presentation' } }, ...content);
    document.body.append(made);
    const box = made.getBoundingClientRect();
    const left = Math.min(Math.max(8, place.x + 14), innerWidth - box.width - 8);
    const below = place.y + place.height + 10;
    const top = below + box.height > innerHeight - 8 ? place.y - box.height - 10 : below;
    made.style.setProperty('left', `${Math.max(8, left)}px`);
    made.style.setProperty('top', `${Math.max(8, top)}px`);
    return made;
}
