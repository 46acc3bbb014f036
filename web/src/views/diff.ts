// SPDX-License-Identifier: GPL-2.0-or-later
import { empty } from '../parts.js';
import type { View } from '../view.js';
export function diffView(): View {
    return { title: 'diff', element: empty('soon'), update: () => undefined, repaint: () => undefined, close: () => undefined };
}
