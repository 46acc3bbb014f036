// SPDX-License-Identifier: GPL-2.0-or-later
// Numbers and times for people. Times are shown as the browser's place has them, and written as UTC in addresses.

export function percent(share: number, digits = 1): string {
    if (!Number.isFinite(share)) return '–';
    return `${(share * 100).toFixed(digits)} %`;
}

// A share that may be tiny: as many digits as tell it from zero.
export function smallPercent(share: number): string {
    const value = share * 100;
    if (value === 0) return '0 %';
    if (Math.abs(value) >= 10) return `${value.toFixed(1)} %`;
    if (Math.abs(value) >= 0.1) return `${value.toFixed(2)} %`;
    return `${value.toPrecision(1)} %`;
}

export function seconds(value: number): string {
    if (!Number.isFinite(value)) return '–';
    const size = Math.abs(value);
    if (size === 0) return '0 s';
    if (size < 0.001) return `${(value * 1e6).toFixed(0)} µs`;
    if (size < 1) return `${(value * 1000).toFixed(size < 0.01 ? 1 : 0)} ms`;
    if (size < 120) return `${value.toFixed(size < 10 ? 2 : 1)} s`;
    if (size < 7200) return `${(value / 60).toFixed(1)} min`;
    return `${(value / 3600).toFixed(1)} h`;
}

export function count(value: number): string {
    return Math.round(value).toLocaleString('en').replaceAll(',', '\u202f');
}

export function big(value: number): string {
    const size = Math.abs(value);
    for (const [limit, suffix] of [
        [1e12, 'T'],
        [1e9, 'G'],
        [1e6, 'M'],
        [1e3, 'k'],
    ] as const) {
        if (size >= limit) return `${(value / limit).toPrecision(3)} ${suffix}`;
    }
    return value.toFixed(0);
}

export function bytes(value: number): string {
    const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
    let at = 0;
    while (value >= 1024 && at < units.length - 1) {
        value /= 1024;
        ++at;
    }
    return `${at === 0 ? value : value.toFixed(1)} ${units[at]}`;
}

const pad = (value: number): string => String(value).padStart(2, '0');

export function clock(ms: number): string {
    const time = new Date(ms);
    return `${pad(time.getHours())}:${pad(time.getMinutes())}:${pad(time.getSeconds())}`;
}

export function dateAndClock(ms: number): string {
    const time = new Date(ms);
    return `${time.getFullYear()}-${pad(time.getMonth() + 1)}-${pad(time.getDate())} ${clock(ms)}`;
}

export function span(from: number, to: number): string {
    const sameDay = dateAndClock(from).slice(0, 10) === dateAndClock(to).slice(0, 10);
    return `${dateAndClock(from)} – ${sameDay ? clock(to) : dateAndClock(to)}`;
}

// What addresses hold: seconds, or milliseconds where they matter.
export function isoTime(ms: number): string {
    return new Date(ms).toISOString().replace('.000Z', 'Z');
}

export function baseName(path: string): string {
    return path.slice(path.lastIndexOf('/') + 1);
}
