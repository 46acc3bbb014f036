// SPDX-License-Identifier: GPL-2.0-or-later
// The flame graph in sight as an SVG file, for tickets and slides.
import { svg } from '../dom.js';
import { rightOf, type Layout } from './layout.js';

const kWidth = 1200;
const kRow = 17;
const kTop = 34;
const kNarrow = 0.3;
const kLetter = 6.2;

export function picture(
    layout: Layout,
    zoomed: number,
    icicle: boolean,
    title: string,
    colour: (node: number) => string,
    text: (node: number) => string,
    describe: (node: number) => string,
): string {
    const from = layout.left[zoomed] ?? 0;
    const to = rightOf(layout, zoomed);
    const kx = kWidth / (to - from || 1);
    const height = layout.rows.length * kRow + kTop;
    const root = svg('svg', {
        xmlns: 'http://www.w3.org/2000/svg',
        viewBox: `0 0 ${kWidth} ${height}`,
        width: kWidth,
        height,
        'font-family': 'monospace',
        'font-size': 10.5,
    });
    root.append(
        svg('rect', { width: '100%', height: '100%', fill: '#fff' }),
        svg('text', { x: 6, y: 20, 'font-size': 13, 'font-family': 'sans-serif' }, title),
    );
    layout.rows.forEach((row, depth) => {
        for (const node of row) {
            const x0 = Math.max(0, ((layout.left[node] ?? 0) - from) * kx);
            const x1 = Math.min(kWidth, (rightOf(layout, node) - from) * kx);
            if (x1 - x0 < kNarrow) continue;
            const y = icicle ? kTop + depth * kRow : height - (depth + 1) * kRow;
            const group = svg('g', {}, svg('title', {}, describe(node)));
            group.append(
                svg('rect', {
                    x: x0.toFixed(1),
                    y,
                    width: (x1 - x0).toFixed(1),
                    height: kRow - 1,
                    fill: colour(node),
                }),
            );
            const letters = Math.floor((x1 - x0 - 6) / kLetter);
            let label = text(node);
            if (letters >= 3) {
                if (label.length > letters) label = `${label.slice(0, letters - 1)}…`;
                group.append(svg('text', { x: (x0 + 3).toFixed(1), y: y + 12 }, label));
            }
            root.append(group);
        }
    });
    return new XMLSerializer().serializeToString(root);
}
