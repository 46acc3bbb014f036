// SPDX-License-Identifier: GPL-2.0-or-later
// The daemon's answers (docs/http-api.md), and what it means when there is none.

export type Trouble = 'gone' | 'locked' | 'refused';

export class ApiError extends Error {
    constructor(
        readonly trouble: Trouble,
        readonly status: number,
        message: string,
    ) {
        super(message);
    }
}

async function ask(path: string, signal?: AbortSignal): Promise<Response> {
    let answer: Response;
    try {
        answer = await fetch(path, { signal: signal ?? null, cache: 'no-store', credentials: 'same-origin' });
    } catch (error) {
        if (signal?.aborted) throw error;
        throw new ApiError('gone', 0, 'The daemon does not answer.');
    }
    if (answer.ok) return answer;
    let sentence = `HTTP ${answer.status}`;
    try {
        const told = JSON.parse(await answer.text()) as { error?: unknown };
        if (typeof told.error === 'string') sentence = told.error;
    } catch {
        // No sentence then.
    }
    const locked = answer.status === 401 || (answer.status === 403 && sentence.includes('token'));
    throw new ApiError(locked ? 'locked' : 'refused', answer.status, sentence);
}

export async function getJson<T>(path: string, signal?: AbortSignal): Promise<T> {
    const answer = await ask(path, signal);
    try {
        return (await answer.json()) as T;
    } catch (error) {
        if (signal?.aborted) throw error;
        throw new ApiError('gone', 0, 'The daemon ended in the middle of its answer.');
    }
}

export async function getBytes(path: string, signal?: AbortSignal): Promise<Uint8Array> {
    const answer = await ask(path, signal);
    return new Uint8Array(await answer.arrayBuffer());
}

export interface Degraded {
    reason: string;
    detail: string;
    remedy: string;
}

export interface StoredWindow {
    id: string;
    kind: 'window' | 'rollup' | 'archive';
    start: string;
    end: string;
    duration_seconds: number;
    samples: number;
    lost: number;
    busy?: number;
    bytes: number;
    partial: boolean;
    stored: boolean;
    parts?: number;
}

// Nanoseconds since 1970 as the API wants them; a double does not hold them.
export const nanoseconds = (ms: number): string => `${Math.round(ms)}000000`;

export async function windowsBetween(from: number, to: number, signal?: AbortSignal): Promise<StoredWindow[]> {
    const path = `/v1/windows?since=${nanoseconds(from)}&until=${nanoseconds(to)}`;
    return (await getJson<{ windows: StoredWindow[] }>(path, signal)).windows;
}

export async function newestWindows(limit: number, kind: string, signal?: AbortSignal): Promise<StoredWindow[]> {
    return (await getJson<{ windows: StoredWindow[] }>(`/v1/windows?limit=${limit}&kind=${kind}`, signal)).windows;
}

export interface Status {
    version: string;
    host: string;
    state: string;
    slice_seconds: number;
    window_seconds: number;
    captures: { enabled: boolean; dir: string; bytes: number; bytes_limit: number; count: number; file: string };
    store: { bytes: number; bytes_limit: number; count: number };
    events: { name: string; frequency_hertz: number }[];
    degraded: Degraded[];
}

export const getStatus = (signal?: AbortSignal): Promise<Status> => getJson<Status>('/v1/status', signal);
