// SPDX-License-Identifier: GPL-2.0-or-later
// How addresses name a frame, and what is searched.
import { pathOf, type Layout } from './layout.js';

// Where a frame is among its siblings, from the root on: "0.2.1".
export function zoomText(layout: Layout, node: number): string {
    return pathOf(layout, node)
        .map((at) => layout.children[layout.tree.parent[at] ?? 0]?.indexOf(at) ?? 0)
        .join('.');
}

export function zoomNode(layout: Layout, text: string): number {
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
