// SPDX-License-Identifier: GPL-2.0-or-later
import { empty } from '../parts.js';
import type { View } from '../view.js';
export function capturesView(): View {
    return { title: 'captures', element: empty('soon'), update: () => undefined, repaint: () => undefined, close: () => undefined };
}
