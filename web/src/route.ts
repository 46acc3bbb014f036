// SPDX-License-Identifier: GPL-2.0-or-later
// Every state of the page has an address: "#/flame?from=…&to=…". A view reads its parameters from here and changes them
// by navigate(); nothing that a reload should bring back lives elsewhere.

export interface Route {
    view: string;
    params: URLSearchParams;
}

export type Changes = Record<string, string | null | undefined>;

export function currentRoute(): Route {
    const hash = location.hash.replace(/^#\/?/, '');
    const mark = hash.indexOf('?');
    const view = mark < 0 ? hash : hash.slice(0, mark);
    return { view: view || 'now', params: new URLSearchParams(mark < 0 ? '' : hash.slice(mark + 1)) };
}

export function address(view: string, values: Changes = {}): string {
    const params = new URLSearchParams();
    for (const [name, value] of Object.entries(values)) {
        if (value !== null && value !== undefined && value !== '') params.set(name, value);
    }
    // Times stay readable.
    const query = params.toString().replaceAll('%3A', ':');
    return `#/${view}${query ? `?${query}` : ''}`;
}

// The same view with some parameters changed. Small steps (a search being typed) replace the entry of the history.
export function change(changes: Changes, replace = false): void {
    const { view, params } = currentRoute();
    go(address(view, { ...Object.fromEntries(params), ...changes }), replace);
}

export function go(hash: string, replace = false): void {
    if (hash === location.hash) return;
    if (!replace) {
        location.hash = hash;
        return;
    }
    history.replaceState(null, '', hash);
    dispatchEvent(new HashChangeEvent('hashchange'));
}
