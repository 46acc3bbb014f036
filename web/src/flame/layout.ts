// SPDX-License-Identifier: GPL-2.0-or-later
// Where each frame of a tree lies: its depth, and its stretch of the root's weight. Made once per tree; zooming only
// looks at another stretch.
import { childrenOf, type Tree } from '../profile/tree.js';

export interface Layout {
    tree: Tree;
    children: number[][];
    depth: Uint16Array;
    left: Float64Array; // by node, in weight
    rows: Uint32Array[]; // by depth: nodes from left to right
    weight: number[]; // by node: its width; the tree's total unless another is given
}

// `weight`: of each node, children never more than their parent.
export function layOut(tree: Tree, weight: number[] = tree.total): Layout {
    const children = childrenOf(tree);
    const count = tree.name.length;
    const depth = new Uint16Array(count);
    const left = new Float64Array(count);
    const rows: number[][] = [[0]];
    // Rows come from left to right, because parents do.
    for (let row = 0; row < rows.length; ++row) {
        const next: number[] = [];
        for (const node of rows[row] ?? []) {
            let at = left[node] ?? 0;
            for (const child of children[node] ?? []) {
                const width = weight[child] ?? 0;
                if (width <= 0) continue;
                left[child] = at;
                depth[child] = row + 1;
                at += width;
                next.push(child);
            }
        }
        if (next.length > 0) rows.push(next);
    }
    return { tree, children, depth, left, rows: rows.map((row) => Uint32Array.from(row)), weight };
}

export const rightOf = (layout: Layout, node: number): number => (layout.left[node] ?? 0) + (layout.weight[node] ?? 0);

// The first in a row that ends right of `x`.
export function firstAfter(layout: Layout, row: Uint32Array, x: number): number {
    let low = 0;
    let high = row.length;
    while (low < high) {
        const middle = (low + high) >>> 1;
        if (rightOf(layout, row[middle] ?? 0) <= x) low = middle + 1;
        else high = middle;
    }
    return low;
}

export function nodeAt(layout: Layout, depth: number, x: number): number | null {
    const row = layout.rows[depth];
    if (row === undefined) return null;
    const node = row[firstAfter(layout, row, x)];
    return node !== undefined && (layout.left[node] ?? 0) <= x ? node : null;
}

// From the root's child down to the node; how addresses name a frame.
export function pathOf(layout: Layout, node: number): number[] {
    const path: number[] = [];
    for (let at = node; at > 0; at = layout.tree.parent[at] ?? 0) path.unshift(at);
    return path;
}

// Weight of all frames that match and have none above them that does.
export function matchedWeight(layout: Layout, matches: (name: number) => boolean): number {
    let sum = 0;
    const inside = new Uint8Array(layout.tree.name.length);
    for (let node = 1; node < layout.tree.name.length; ++node) {
        if (inside[layout.tree.parent[node] ?? 0] === 1) inside[node] = 1;
        else if (matches(layout.tree.name[node] ?? 0)) {
            inside[node] = 1;
            sum += layout.weight[node] ?? 0;
        }
    }
    return sum;
}
