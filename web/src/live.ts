// SPDX-License-Identifier: GPL-2.0-or-later
// Follows the daemon slice by slice (/v1/live), without a reload, and knows when it is gone.
import { ApiError, getJson, type Degraded } from './api.js';

export interface Modes {
    user: number;
    kernel: number;
    softirq: number;
    idle: number;
    stolen: number;
    unknown: number;
}

export interface Busy {
    busy?: number;
    busy_low?: number;
    busy_high?: number;
    coverage?: number;
    effective_hertz?: number;
    seconds: number;
    modes: Modes;
}

export interface Ledger {
    total: number;
    busy: number;
    idle: number;
    irq_in_idle: number;
    lost: number;
    throttled: number;
    idle_unsampled: number;
    stolen: number;
    unexplained: number;
}

export interface LiveFunction {
    function: string;
    dso: string;
    seconds: number;
    samples: number;
    reason?: string;
}

export interface LiveUnit {
    unit: string;
    seconds: number;
    samples: number;
    throttled_seconds?: number;
}

export interface Slice {
    number: number;
    end: string;
    duration_seconds: number;
    host: Busy;
    cpus: (Busy & { cpu: number })[];
    ledger: Ledger;
    events: { name: string; samples: number; lost: number; throttles: number }[];
    cpu_seconds: number;
    functions: LiveFunction[];
    other_functions_seconds: number;
    units: LiveUnit[];
    other_units_seconds: number;
    late_records: number;
    lost_side_band: number;
    maps_suspect: boolean;
    clock_stepped: boolean;
    cost?: { processes: number; kernel: number; captures: number; budget: number; assumed: boolean };
}

interface Answer {
    run: string;
    state: string;
    host: string;
    slice_seconds: number;
    window_seconds: number;
    degraded: Degraded[];
    slices: Slice[];
}

export type Head = Omit<Answer, 'slices'>;
export type Connection = 'connecting' | 'live' | 'gone' | 'locked';

const kMostSlices = 240;
const kPatience = 25_000; // the daemon lets nobody wait longer than 15 s
const kRetry = 2000;

const sleep = (ms: number): Promise<void> => new Promise((done) => setTimeout(done, ms));

export class Live {
    slices: Slice[] = [];
    head: Head | null = null;
    connection: Connection = 'connecting';
    why = '';
    private readonly listeners = new Set<() => void>();

    start(): void {
        void this.follow();
    }

    // Called at once and after every change; returns what ends that.
    listen(listener: () => void): () => void {
        this.listeners.add(listener);
        listener();
        return () => this.listeners.delete(listener);
    }

    get newest(): Slice | undefined {
        return this.slices.at(-1);
    }

    private tell(): void {
        for (const listener of this.listeners) listener();
    }

    private async follow(): Promise<never> {
        for (;;) {
            // Nobody looks: the daemon is left alone.
            if (document.hidden && this.connection === 'live') await this.shown();
            try {
                this.take(await this.ask());
            } catch (error) {
                this.connection = error instanceof ApiError && error.trouble === 'locked' ? 'locked' : 'gone';
                this.why = error instanceof ApiError ? error.message : 'The daemon does not answer.';
                this.tell();
                await sleep(kRetry);
            }
        }
    }

    private shown(): Promise<void> {
        return new Promise((done) => {
            const look = (): void => {
                if (document.hidden) return;
                document.removeEventListener('visibilitychange', look);
                done();
            };
            document.addEventListener('visibilitychange', look);
            look();
        });
    }

    private async ask(): Promise<Answer> {
        const control = new AbortController();
        const limit = setTimeout(() => control.abort(), kPatience);
        try {
            // After trouble the first answer must not wait: it is what says that all is well again.
            const after = this.connection === 'live' ? `?after=${this.newest?.number ?? 0}` : '';
            const answer = await getJson<Answer>(`/v1/live${after}`, control.signal);
            if (after !== '' || answer.slices.length === 0) return answer;
            const known = this.head?.run === answer.run ? (this.newest?.number ?? 0) : 0;
            if (known >= (answer.slices[0]?.number ?? 0)) return { ...answer, slices: [] };
            return await getJson<Answer>(`/v1/live?after=${known}`, control.signal);
        } finally {
            clearTimeout(limit);
        }
    }

    private take(answer: Answer): void {
        const { slices, ...head } = answer;
        if (this.head !== null && this.head.run !== head.run) this.slices = [];
        this.head = head;
        this.connection = 'live';
        this.slices = [...this.slices, ...slices].slice(-kMostSlices);
        this.tell();
    }
}
