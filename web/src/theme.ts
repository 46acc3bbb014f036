// SPDX-License-Identifier: GPL-2.0-or-later
// Light or dark: as the system has it until somebody chooses.
const kKey = 'perfvigil-theme';
export type Theme = 'light' | 'dark';

const asked = matchMedia('(prefers-color-scheme: dark)');

function stored(): Theme | null {
    try {
        const value = localStorage.getItem(kKey);
        return value === 'light' || value === 'dark' ? value : null;
    } catch {
        return null; // storage may be forbidden
    }
}

export function theme(): Theme {
    return stored() ?? (asked.matches ? 'dark' : 'light');
}

// Canvases are painted again by `repaint`.
export function watchTheme(repaint: () => void): void {
    asked.addEventListener('change', () => {
        apply();
        repaint();
    });
    apply();
}

export function toggleTheme(): void {
    try {
        localStorage.setItem(kKey, theme() === 'dark' ? 'light' : 'dark');
    } catch {
        return;
    }
    apply();
}

function apply(): void {
    document.documentElement.dataset['theme'] = theme();
}

// A colour of style.css, for canvases.
export function colour(name: string): string {
    return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}
