// SPDX-License-Identifier: GPL-2.0-or-later
// A daemon that replays a capture of which everything is known, and a browser, for the tests of one file.
import assert from 'node:assert/strict';
import { copyFile, mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { after, before } from 'node:test';
import { Daemon, makeCapture, openBrowser, until, Visit, whyNot } from './harness.mjs';

// A process may call itself this.
export const kComm = '<img src=x:>';

const why = whyNot();
if (why !== null) {
    console.log(`Skipped: ${why}`);
    process.exit(77);
}

let folder;
let capture;
// Filled before the tests.
export const replay = { browser: null, daemon: null, truth: null, windows: [] }; // windows: oldest first

// Of the truth's slices between two times.
export function truthBetween(from, to) {
    const sums = new Map();
    for (const slice of capture.truth.slices) {
        const end = Date.parse(slice.end);
        if (end <= from + 100 || end > to + 100) continue;
        for (const cpu of slice.cpus) {
            const sum = sums.get(cpu.cpu) ?? { seconds: 0, busy: 0, samples: 0 };
            sum.seconds += cpu.seconds;
            sum.busy += cpu.busy_seconds;
            sum.samples += cpu.samples - cpu.idle_samples;
            sums.set(cpu.cpu, sum);
        }
    }
    return sums;
}

export const stretch = (window) => ({ from: Date.parse(window.start), to: Date.parse(window.end) });
export const range = ({ from, to }, a = 'from', b = 'to') =>
    `${a}=${new Date(from).toISOString()}&${b}=${new Date(to).toISOString()}`;
export const plain = (text) => text.replaceAll('\u202f', '');
export const shown = (text, pattern) => {
    const found = plain(text).match(pattern);
    assert.ok(found, `${pattern} in “${plain(text).slice(0, 600)}”`);
    return Number(found[1]);
};

// Runs `check` on a visit and wants it to end without trouble.
export async function visit(check, options = {}) {
    const one = await Visit.begin(replay.browser, options.daemon ?? replay.daemon, options);
    try {
        await check(one, one.page);
    } finally {
        const troubles = await one.end();
        assert.deepEqual(troubles, []);
    }
}

before(async () => {
    folder = await mkdtemp(path.join(os.tmpdir(), 'perfvigil-web-'));
    capture = await makeCapture(folder, kComm);
    replay.truth = capture.truth;
    replay.browser = await openBrowser();
    replay.daemon = await Daemon.start({ replay: capture.file });
    // What a rotating recording would have kept of it.
    await copyFile(capture.file, path.join(replay.daemon.captures, `${capture.truth.name}.perf.data`));
    // The analysis follows the recording.
    const last = Date.parse(capture.truth.slices.at(-1).end);
    replay.windows = await until('the last window', async () => {
        const found = (await replay.daemon.get('/v1/windows')).windows.reverse();
        return found.length > 0 && Date.parse(found.at(-1).end) >= last - 100 && found;
    });
    assert.ok(replay.windows.length >= 5, `${replay.windows.length} windows`);
});

after(async () => {
    await replay.browser?.close();
    await replay.daemon?.close();
    if (folder) await rm(folder, { recursive: true, force: true });
});
