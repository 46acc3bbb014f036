// SPDX-License-Identifier: GPL-2.0-or-later
// What main.ts shows below the head, one at a time.
import type { Live } from './live.js';

export interface View {
    title: string;
    element: HTMLElement;
    update(params: URLSearchParams): void; // the address changed; also once at the start
    repaint(): void; // colours changed
    close(): void;
}

export type MakeView = (live: Live) => View;
