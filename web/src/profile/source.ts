// SPDX-License-Identifier: GPL-2.0-or-later
// The profiles that an address asks for: the newest window, one by its id, or the fewest that hold a stretch of time.
import { ApiError, getBytes, nanoseconds, newestWindows, windowsBetween, type StoredWindow } from '../api.js';
import { isoTime } from '../format.js';
import { decodeProfile, type Profile } from './decode.js';

const kMostProfiles = 400;
const kKept = 80;
const kAtATime = 4;

const known = new Map<string, Profile>(); // by id, the one used last at the end

async function load(id: string, signal?: AbortSignal): Promise<Profile> {
    let profile = known.get(id);
    if (profile === undefined) profile = decodeProfile(await getBytes(`/v1/windows/${id}/profile`, signal));
    known.delete(id);
    known.set(id, profile);
    const [oldest] = known.keys();
    if (known.size > kKept && oldest !== undefined) known.delete(oldest);
    return profile;
}

export interface Range {
    from: number; // ms since 1970
    to: number;
}

export function rangeOf(params: URLSearchParams, from = 'from', to = 'to'): Range | null {
    const start = Date.parse(params.get(from) ?? '');
    const end = Date.parse(params.get(to) ?? '');
    return Number.isFinite(start) && Number.isFinite(end) && end > start ? { from: start, to: end } : null;
}

export const rangeParams = (range: Range, from = 'from', to = 'to'): Record<string, string> => ({
    [from]: isoTime(range.from),
    [to]: isoTime(range.to),
});

export interface Found {
    profiles: Profile[];
    from: number; // what they hold, which may be more than was asked for
    to: number;
}

async function loadAll(
    windows: StoredWindow[],
    signal?: AbortSignal,
    progress?: (done: number, all: number) => void,
): Promise<Profile[]> {
    if (windows.length > kMostProfiles)
        throw new Error(`That stretch is ${windows.length} profiles; choose a shorter one.`);
    const profiles: Profile[] = [];
    for (let i = 0; i < windows.length; i += kAtATime) {
        progress?.(i, windows.length);
        profiles.push(...(await Promise.all(windows.slice(i, i + kAtATime).map((window) => load(window.id, signal)))));
    }
    return profiles;
}

export interface Wanted {
    range: Range | null; // null: see window
    window: string | null; // an id; null: the newest
    raw: boolean; // of the raw capture, exactly that stretch
}

// null: nothing is kept of that time.
export async function find(
    { range, window: id, raw }: Wanted,
    signal?: AbortSignal,
    progress?: (done: number, all: number) => void,
): Promise<Found | null> {
    if (raw && range !== null) {
        const bytes = await getBytes(
            `/v1/raw/profile?since=${nanoseconds(range.from)}&until=${nanoseconds(range.to)}`,
            signal,
        );
        return { profiles: [decodeProfile(bytes)], from: range.from, to: range.to };
    }
    if (range === null && id !== null) {
        if (!/^[0-9TZ]+(-[ra])?(-[0-9]+)?$/.test(id)) throw new Error(`“${id}” is no window's id.`);
        const profile = await load(id, signal);
        return { profiles: [profile], from: profile.start, to: profile.end };
    }
    const windows =
        range === null ? await newestWindows(1, 'window', signal) : await windowsBetween(range.from, range.to, signal);
    const [first] = windows;
    if (first === undefined) return null;
    let profiles: Profile[];
    try {
        profiles = await loadAll(windows, signal, progress);
    } catch (error) {
        // Rolled up meanwhile: the list of a moment later names what took its place.
        if (range === null || !(error instanceof ApiError && error.status === 404)) throw error;
        profiles = await loadAll(await windowsBetween(range.from, range.to, signal), signal, progress);
    }
    return {
        profiles,
        from: Math.min(...profiles.map((profile) => profile.start)),
        to: Math.max(...profiles.map((profile) => profile.end)),
    };
}
