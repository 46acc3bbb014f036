// SPDX-License-Identifier: GPL-2.0-or-later
// The heaviest functions and units of the last slices.
import type { Slice } from './live.js';

const kLately = 12; // slices by which functions and units are ranked, so that rows do not jump

export interface Ranked {
    key: string;
    row: { function?: string; dso?: string; unit?: string; reason?: string };
    now: number; // share of the newest slice's CPU time
    cores: number; // of the newest slice
    lately: number; // seconds
    history: number[]; // cores, oldest first
    throttled: number; // seconds lately
}

// Functions or units by what they took lately.
export function rank(slices: Slice[], of: 'functions' | 'units'): Ranked[] {
    const ranked = new Map<string, Ranked>();
    slices.forEach((slice, at) => {
        for (const row of slice[of] as (Slice['functions'][number] & Slice['units'][number])[]) {
            const key = of === 'functions' ? `${row.function}\0${row.dso}\0${row.reason ?? ''}` : row.unit;
            const found: Ranked = ranked.get(key) ?? {
                key,
                row,
                now: 0,
                cores: 0,
                lately: 0,
                history: [],
                throttled: 0,
            };
            const cores = row.seconds / (slice.duration_seconds || 1);
            while (found.history.length < at) found.history.push(0);
            found.history.push(cores);
            if (at >= slices.length - kLately) {
                found.lately += row.seconds;
                found.throttled += row.throttled_seconds ?? 0;
            }
            if (at === slices.length - 1) {
                found.now = slice.cpu_seconds > 0 ? row.seconds / slice.cpu_seconds : 0;
                found.cores = cores;
            }
            ranked.set(key, found);
        }
    });
    const all = [...ranked.values()];
    for (const one of all) while (one.history.length < slices.length) one.history.push(0);
    return all
        .filter((one) => one.lately > 0 || one.throttled > 0)
        .sort((a, b) => b.lately - a.lately || b.throttled - a.throttled);
}
