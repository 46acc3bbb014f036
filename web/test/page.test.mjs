// SPDX-License-Identifier: GPL-2.0-or-later
// The page in a browser, against a daemon that replays a capture of which everything is known.
import assert from 'node:assert/strict';
import { copyFile, mkdtemp, readFile, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { Daemon, makeCapture, openBrowser, sleep, until, Visit, whyNot } from './harness.mjs';

// A process may call itself this.
const kComm = '<img src=x:>';
const kViews = ['now', 'flame', 'diff', 'heat', 'captures'];

const why = whyNot();
if (why !== null) {
    console.log(`Skipped: ${why}`);
    process.exit(77);
}

let folder;
let browser;
let capture;
let daemon;
let windows; // oldest first

// Of the truth's slices between two times.
function truthBetween(from, to) {
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

const stretch = (window) => ({ from: Date.parse(window.start), to: Date.parse(window.end) });
const range = ({ from, to }, a = 'from', b = 'to') =>
    `${a}=${new Date(from).toISOString()}&${b}=${new Date(to).toISOString()}`;
const plain = (text) => text.replaceAll('\u202f', '');
const shown = (text, pattern) => {
    const found = plain(text).match(pattern);
    assert.ok(found, `${pattern} in “${plain(text).slice(0, 600)}”`);
    return Number(found[1]);
};

// Runs `check` on a visit and wants it to end without trouble.
async function visit(check, options = {}) {
    const one = await Visit.begin(browser, options.daemon ?? daemon, options);
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
    browser = await openBrowser();
    daemon = await Daemon.start({ replay: capture.file });
    // What a rotating recording would have kept of it.
    await copyFile(capture.file, path.join(daemon.captures, `${capture.truth.name}.perf.data`));
    // The analysis follows the recording.
    const last = Date.parse(capture.truth.slices.at(-1).end);
    windows = await until('the last window', async () => {
        const found = (await daemon.get('/v1/windows')).windows.reverse();
        return found.length > 0 && Date.parse(found.at(-1).end) >= last - 100 && found;
    });
    assert.ok(windows.length >= 5, `${windows.length} windows`);
});

after(async () => {
    await browser?.close();
    await daemon?.close();
    if (folder) await rm(folder, { recursive: true, force: true });
});

describe('the door', () => {
    test('an address opens once', async () => {
        const one = await Visit.begin(browser, daemon);
        const again = await daemon.invitation();
        await one.page.goto(again);
        assert.equal(new URL(one.page.url()).pathname, '/');
        await one.end();
        const stranger = await browser.newContext();
        const page = await stranger.newPage();
        const answer = await page.goto(again);
        assert.equal(answer.status(), 401);
        assert.match(await page.innerText('body'), /was opened already/);
        assert.equal((await page.goto(new URL(again).origin)).status(), 401);
        assert.match(await page.innerText('body'), /perfvigil web/);
        assert.equal((await page.goto(`${new URL(again).origin}/app.js`)).status(), 403);
        await stranger.close();
    });

    test('a page of another site gets nothing', async () => {
        const one = await Visit.begin(browser, daemon);
        const { origin } = one;
        const elsewhere = await one.context.newPage();
        await one.context.unroute('**/*');
        await one.context.route('http://elsewhere.test/**', (route) => route.fulfill({ contentType: 'text/html', body: '<p>elsewhere' }));
        await elsewhere.goto('http://elsewhere.test/');
        const outcome = await elsewhere.evaluate(async (target) => {
            try {
                const answer = await fetch(`${target}/v1/status`, { credentials: 'include' });
                return answer.status;
            } catch {
                return 'refused';
            }
        }, origin);
        assert.equal(outcome, 'refused');
        const framed = await elsewhere.evaluate((target) => new Promise((done) => {
            const frame = document.createElement('iframe');
            frame.onload = () => done(frame.contentDocument === null ? 'kept out' : frame.contentDocument.body?.innerText ?? '');
            frame.src = target;
            document.body.append(frame);
        }), origin);
        assert.doesNotMatch(String(framed), /Flame graph/);
        await one.context.close();
    });

    test('the policy forbids markup from text', async () => visit(async (one, page) => {
        one.allowed.push(/TrustedHTML|trusted/i);
        const thrown = await page.evaluate(() => {
            try {
                document.body.innerHTML = '<p>x';
                return null;
            } catch (error) {
                return String(error);
            }
        });
        assert.match(String(thrown), /TrustedHTML|Trusted/);
    }));
});

describe('Now', () => {
    test('shows how busy each CPU was, within its interval', async () => visit(async (one, page) => {
        await one.sees(/replay ended/, '.head');
        const text = await one.text();
        // At the end CPU 0 alone is there, always busy.
        const last = capture.truth.slices.at(-1);
        const truth = last.cpus.find((cpu) => cpu.cpu === 0);
        const busy = shown(text, /CPU 0\s+([\d.]+) %/);
        assert.ok(Math.abs(busy - (100 * truth.busy_seconds) / truth.seconds) < 3, `${busy} %`);
        assert.match(plain(text), /worker0\.service/);
        assert.match(text, /\[worker\]/);
        assert.match(text, /Nothing: a capture is replayed/);
        assert.ok(await page.locator('.chart canvas').count() > 0);
        await page.getByRole('link', { name: 'worker0.service' }).click();
        await one.sees(/Flame graph/);
        assert.match(page.url(), /unit=worker0\.service/);
    }));
});

describe('Flame graph', () => {
    test('counts what was sampled while a CPU was busy', async () => visit(async (one) => {
        for (const window of [windows[0], windows.at(-2)]) {
            await one.go(`#/flame?${range(stretch(window))}&event=cpu-clock`);
            await one.sees(/samples of cpu-clock/);
            const counted = shown(await one.text(), /(\d+) samples of cpu-clock/);
            const truth = [...truthBetween(...Object.values(stretch(window))).values()].reduce((n, cpu) => n + cpu.samples, 0);
            assert.ok(Math.abs(counted - truth) <= 3, `${counted} samples, ${truth} in truth`);
        }
    }));

    test('filters by unit, and says of how much', async () => visit(async (one) => {
        const window = windows[1];
        const truth = truthBetween(...Object.values(stretch(window)));
        const all = [...truth.values()].reduce((n, cpu) => n + cpu.samples, 0);
        await one.go(`#/flame?${range(stretch(window))}&event=cpu-clock&unit=worker1.service`);
        await one.sees(/of the whole/);
        const share = shown(await one.text(), /([\d.]+) % of the whole/);
        assert.ok(Math.abs(share - (100 * truth.get(1).samples) / all) < 2, `${share} %`);
    }));

    test('a hostile name is text', async () => visit(async (one, page) => {
        await one.go(`#/flame?${range(stretch(windows[1]))}&event=cpu-clock`);
        await page.locator('.flame-canvas').focus();
        await page.keyboard.press('ArrowUp');
        await one.sees(/in all/, '.pointed');
        assert.match(await one.text('.pointed'), /^<img src=x:>: 100\.0 % in all/);
        assert.match(await one.text('.tip .name'), /^<img src=x:>$/);
        assert.equal(await page.locator('main img').count(), 0);
        assert.ok((await page.locator('select').nth(2).innerText()).includes(kComm));
    }));

    test('zooms, searches and turns by its address', async () => visit(async (one, page) => {
        const here = `#/flame?${range(stretch(windows[1]))}&event=cpu-clock`;
        await one.go(`${here}&zoom=0.0&search=worker&view=icicle`);
        await one.sees(/matched [\d.]+ %/);
        assert.equal(await page.locator('button[aria-pressed="true"]', { hasText: 'icicle' }).count(), 1);
        assert.equal(await page.locator('input[type="search"]').inputValue(), 'worker');
        await page.getByRole('button', { name: 'reset zoom' }).click();
        await until('the address has no zoom', () => !page.url().includes('zoom='));
        await page.locator('.flame-canvas').focus();
        await page.keyboard.press('ArrowDown');
        await page.keyboard.press('Enter');
        await until('the address has the zoom', () => page.url().includes('zoom=0'));
        await page.goBack();
        await until('back', () => !page.url().includes('zoom='));
        await page.keyboard.press('/');
        await page.keyboard.type('no such function');
        await one.sees(/matched 0 %/);
        await one.sees(/No function matches/);
    }));

    test('shows callers and callees of a function', async () => visit(async (one, page) => {
        await one.go(`#/flame?${range(stretch(windows[1]))}&event=cpu-clock`);
        await page.locator('td.name a').first().click();
        await one.sees(/Callers/);
        await one.sees(/Callees/);
        assert.equal(await page.locator('.flame-canvas').count(), 2);
        await page.getByRole('link', { name: /the whole graph/ }).click();
        await one.sees(/Functions/);
    }));

    test('can be taken along', async () => visit(async (one, page) => {
        await one.go(`#/flame?${range(stretch(windows[1]))}&event=cpu-clock`);
        await page.getByRole('button', { name: 'copy folded' }).click();
        await one.sees(/copied/);
        const folded = await page.evaluate(() => navigator.clipboard.readText());
        assert.match(folded, /^<img src=x:>;.* \d+$/m);
        const [picture] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'save SVG' }).click()]);
        const svg = await readFile(await picture.path(), 'utf8');
        assert.match(svg, /^<svg xmlns/);
        assert.match(svg, /&lt;img src=x:&gt;/);
        const [pprof] = await Promise.all([page.waitForEvent('download'), page.getByRole('link', { name: 'pprof' }).click()]);
        const bytes = await readFile(await pprof.path());
        assert.deepEqual([...bytes.subarray(0, 2)], [0x1f, 0x8b]);
    }));

    test('is dragged out of the timeline', async () => visit(async (one, page) => {
        await one.go('#/flame');
        await one.sees(/drag to choose/);
        await sleep(300);
        const box = await page.locator('.chart .u-over').boundingBox();
        await page.mouse.move(box.x + box.width * 0.1, box.y + 20);
        await page.mouse.down();
        await page.mouse.move(box.x + box.width * 0.5, box.y + 20, { steps: 5 });
        await page.mouse.up();
        await until('the address has the stretch', () => page.url().includes('from='));
        await one.sees(/samples of/);
    }));
});

describe('Diff', () => {
    test('says so where nothing changed', async () => visit(async (one) => {
        await one.go(`#/diff?${range(stretch(windows[1]), 'bfrom', 'bto')}&${range(stretch(windows[2]), 'afrom', 'ato')}&event=cpu-clock&by=unit`);
        await one.sees(/Nothing changed that these samples could show/);
        await one.sees(/worker1\.service/);
    }));

    test('finds the unit whose CPU went away', async () => visit(async (one, page) => {
        await one.go(`#/diff?${range(stretch(windows[1]), 'bfrom', 'bto')}&${range(stretch(windows.at(-2)), 'afrom', 'ato')}&event=cpu-clock&by=unit&force=true`);
        await one.sees(/of \d+ changed/);
        const row = page.locator('tr', { hasText: 'worker1.service' });
        assert.match(await row.innerText(), /less/);
        const truth = truthBetween(...Object.values(stretch(windows[1])));
        const before = (100 * truth.get(1).samples) / (truth.get(0).samples + truth.get(1).samples);
        const told = shown(await row.innerText(), /([\d.]+) %/);
        assert.ok(Math.abs(told - before) < 1, `${told} %, ${before} % in truth`);
        assert.equal(await page.locator('.flame-canvas').count(), 1);
    }));

    test('takes the last two windows by itself', async () => visit(async (one, page) => {
        await one.go('#/diff');
        await one.sees(/What changed/);
        assert.match(page.url(), /bfrom=.*ato=/);
    }));
});

describe('Heat map', () => {
    test('shows each second’s samples, and a stretch as a flame graph', async () => visit(async (one, page) => {
        const window = windows[1];
        const { from, to } = stretch(window);
        await one.go(`#/heat?${range({ from, to })}&rows=10`);
        await one.sees(/2 CPUs/);
        const heat = await daemon.get(`/v1/raw/heat?since=${from}000000&until=${to}000000&rows=10`);
        const all = heat.columns.flatMap((column) => column.busy).reduce((a, b) => a + b, 0);
        const truth = [...truthBetween(from, to).values()].reduce((n, cpu) => n + cpu.samples, 0);
        assert.ok(Math.abs(all - truth) <= truth * 0.02 + 4, `${all} samples, ${truth} in truth`);
        await page.locator('.heat canvas').focus();
        for (let i = 0; i < 3; ++i) await page.keyboard.press('ArrowLeft');
        for (let i = 0; i < 4; ++i) await page.keyboard.press('Shift+ArrowUp');
        await one.sees(/500 ms chosen/, '.pointed');
        await page.keyboard.press('Enter');
        await one.sees(/Flame graph of raw samples/);
        const counted = shown(await one.text(), /(\d+) samples of cpu-clock/);
        // Half a second of a CPU that is always busy and one that is for a quarter of the time.
        assert.ok(counted >= 49 && counted <= 100, `${counted} samples`);
        assert.match(page.url(), /raw=true/);
    }));

    test('is dragged with the mouse', async () => visit(async (one, page) => {
        await one.go(`#/heat?${range(stretch(windows[1]))}`);
        await one.sees(/every CPU busy/);
        const box = await page.locator('.heat canvas').boundingBox();
        await page.mouse.move(box.x + box.width * 0.3, box.y + box.height * 0.5);
        await page.mouse.down();
        await page.mouse.move(box.x + box.width * 0.4, box.y + box.height * 0.5, { steps: 4 });
        await page.mouse.up();
        await one.sees(/Flame graph of raw samples/);
    }));

    test('says where no capture is kept', async () => visit(async (one) => {
        one.allowed.push(/404/);
        await one.go('#/heat?from=2001-01-01T00:00:00Z&to=2001-01-01T00:01:00Z');
        await one.sees(/No raw capture holds that time/);
        await one.go('#/heat?from=2001-01-01T00:00:00Z&to=2001-01-01T01:00:00Z');
        await one.sees(/more than ten minutes/);
    }));
});

describe('Captures', () => {
    test('shows the command to copy', async () => visit(async (one, page) => {
        one.allowed.push(/404|501/);
        await one.go('#/captures');
        await one.sees(/perfvigil capture -d 10s -F 999 -a/, '.command code >> nth=0');
        await page.locator('select[name="target"]').selectOption('unit');
        await page.locator('input[name="of"]').fill('nginx.service; rm -rf /');
        await page.locator('input[name="duration"]').fill('30s');
        await page.locator('input[name="label"]').fill("it's slow");
        const wanted = "perfvigil capture -d 30s -F 999 --unit 'nginx.service; rm -rf /' --label 'it'\\''s slow'";
        await until('the command', async () => (await page.locator('.command code').first().innerText()) === wanted);
        await page.getByRole('button', { name: 'copy' }).first().click();
        assert.equal(await page.evaluate(() => navigator.clipboard.readText()), wanted);
        const url = page.url();
        await one.go(url.slice(url.indexOf('#')));
        await until('the command again', async () => (await page.locator('.command code').first().innerText()) === wanted);
    }));
});

describe('every view', () => {
    for (const theme of ['light', 'dark']) {
        for (const width of [1280, 360]) {
            test(`has no serious fault of accessibility, ${theme}, ${width} px`, async () => visit(async (one, page) => {
                one.allowed.push(/404|501/);
                const addresses = { flame: `flame?${range(stretch(windows[1]))}&search=w`, heat: `heat?${range(stretch(windows[1]))}` };
                for (const view of kViews) {
                    await one.go(`#/${addresses[view] ?? view}`);
                    await until(`${view} is there`, async () => (await page.locator('main .card').count()) > 0
                        && (await page.locator('.waiting').count()) === 0);
                    assert.deepEqual(await one.faults(), [], view);
                    const [inside, outside] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
                    assert.ok(inside <= outside, `${view} is ${inside} px wide`);
                }
            }, { theme, width }));
        }
    }

    test('can be walked by keyboard alone', async () => visit(async (one, page) => {
        await one.sees(/Hottest functions/);
        await page.keyboard.press('Tab');
        assert.equal(await page.evaluate(() => document.activeElement.textContent), 'to the content');
        await page.keyboard.press('Enter');
        assert.equal(await page.evaluate(() => document.activeElement.id), 'content');
        await page.getByRole('link', { name: 'Captures' }).focus();
        await page.keyboard.press('Enter');
        one.allowed.push(/404|501/);
        await one.sees(/Start a capture/);
    }));

    test('keeps the chosen colours', async () => visit(async (one, page) => {
        await page.getByRole('button', { name: 'use dark colours' }).click();
        await page.reload();
        assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), 'dark');
    }));

    test('says what there is not', async () => visit(async (one) => {
        one.allowed.push(/404/);
        await one.go('#/nowhere');
        await one.sees(/There is no such view/);
        await one.go('#/flame?from=2001-01-01T00:00:00Z&to=2001-01-01T00:01:00Z');
        await one.sees(/Nothing is kept of that time/);
        await one.go('#/flame?window=20010101T000000Z');
        await one.sees(/there is no window/);
        await one.go('#/flame?window=<b>');
        await one.sees(/is no window's id/);
        await one.go('#/diff?bfrom=2001-01-01T00:00:00Z&bto=2001-01-01T00:01:00Z');
        await one.sees(/Choose the stretch after, too/);
    }));

    test('says that its session has ended', async () => visit(async (one) => {
        one.allowed.push(/40[13]/);
        await one.context.clearCookies();
        await one.page.evaluate(() => (location.hash = '#/flame'));
        await one.sees(/This session has ended/);
    }));
});
