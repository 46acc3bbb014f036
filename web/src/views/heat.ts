// SPDX-License-Identifier: GPL-2.0-or-later
import { empty } from '../parts.js';
import type { View } from '../view.js';
export function heatView(): View {
    return { title: 'heat', element: empty('soon'), update: () => undefined, repaint: () => undefined, close: () => undefined };
}
