// SPDX-License-Identifier: GPL-2.0-or-later
// What each view shows of a replay of which everything is known.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { describe, test } from 'node:test';
import { sleep, until } from './harness.mjs';
import { kComm, plain, range, replay, shown, stretch, truthBetween, visit } from './replay.mjs';

describe('Now', () => {
    test('shows how busy each CPU was, within its interval', async () =>
        visit(async (one, page) => {
            await one.sees(/replay ended/, '.head');
            const text = await one.text();
            // At the end CPU 0 alone is there, always busy.
            const last = replay.truth.slices.at(-1);
            const truth = last.cpus.find((cpu) => cpu.cpu === 0);
            const busy = shown(text, /CPU 0\s+([\d.]+) %/);
            assert.ok(Math.abs(busy - (100 * truth.busy_seconds) / truth.seconds) < 3, `${busy} %`);
            assert.match(plain(text), /worker0\.service/);
            assert.match(text, /\[worker\]/);
            assert.match(text, /Nothing: a capture is replayed/);
            assert.ok((await page.locator('.chart canvas').count()) > 0);
            await page.getByRole('link', { name: 'worker0.service' }).click();
            await one.sees(/Flame graph/);
            assert.match(page.url(), /unit=worker0\.service/);
        }));
});

describe('Flame graph', () => {
    test('counts what was sampled while a CPU was busy', async () =>
        visit(async (one) => {
            for (const window of [replay.windows[0], replay.windows.at(-2)]) {
                await one.go(`#/flame?${range(stretch(window))}&event=cpu-clock`);
                await one.sees(/samples of cpu-clock/);
                const counted = shown(await one.text(), /(\d+) samples of cpu-clock/);
                const truth = [...truthBetween(...Object.values(stretch(window))).values()].reduce(
                    (n, cpu) => n + cpu.samples,
                    0,
                );
                assert.ok(Math.abs(counted - truth) <= 3, `${counted} samples, ${truth} in truth`);
            }
        }));

    test('filters by unit, and says of how much', async () =>
        visit(async (one) => {
            const window = replay.windows[1];
            const truth = truthBetween(...Object.values(stretch(window)));
            const all = [...truth.values()].reduce((n, cpu) => n + cpu.samples, 0);
            await one.go(`#/flame?${range(stretch(window))}&event=cpu-clock&unit=worker1.service`);
            await one.sees(/of the whole/);
            const share = shown(await one.text(), /([\d.]+) % of the whole/);
            assert.ok(Math.abs(share - (100 * truth.get(1).samples) / all) < 2, `${share} %`);
        }));

    test('a hostile name is text', async () =>
        visit(async (one, page) => {
            await one.go(`#/flame?${range(stretch(replay.windows[1]))}&event=cpu-clock`);
            await page.locator('.flame-canvas').focus();
            await page.keyboard.press('ArrowUp');
            await one.sees(/in all/, '.pointed');
            assert.match(await one.text('.pointed'), /^<img src=x:>: 100\.0 % in all/);
            assert.match(await one.text('.tip .name'), /^<img src=x:>$/);
            assert.equal(await page.locator('main img').count(), 0);
            assert.ok((await page.locator('select').nth(2).innerText()).includes(kComm));
        }));

    test('zooms, searches and turns by its address', async () =>
        visit(async (one, page) => {
            const here = `#/flame?${range(stretch(replay.windows[1]))}&event=cpu-clock`;
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

    test('shows callers and callees of a function', async () =>
        visit(async (one, page) => {
            await one.go(`#/flame?${range(stretch(replay.windows[1]))}&event=cpu-clock`);
            await page.locator('td.name a').first().click();
            await one.sees(/Callers/);
            await one.sees(/Callees/);
            assert.equal(await page.locator('.flame-canvas').count(), 2);
            await page.getByRole('link', { name: /the whole graph/ }).click();
            await one.sees(/Functions/);
        }));

    test('can be taken along', async () =>
        visit(async (one, page) => {
            await one.go(`#/flame?${range(stretch(replay.windows[1]))}&event=cpu-clock`);
            await page.getByRole('button', { name: 'copy folded' }).click();
            await one.sees(/copied/);
            const folded = await page.evaluate(() => navigator.clipboard.readText());
            assert.match(folded, /^<img src=x:>;.* \d+$/m);
            const [picture] = await Promise.all([
                page.waitForEvent('download'),
                page.getByRole('button', { name: 'save SVG' }).click(),
            ]);
            const svg = await readFile(await picture.path(), 'utf8');
            assert.match(svg, /^<svg xmlns/);
            assert.match(svg, /&lt;img src=x:&gt;/);
            const [pprof] = await Promise.all([
                page.waitForEvent('download'),
                page.getByRole('link', { name: 'pprof' }).click(),
            ]);
            const bytes = await readFile(await pprof.path());
            assert.deepEqual([...bytes.subarray(0, 2)], [0x1f, 0x8b]);
        }));

    test('is dragged out of the timeline', async () =>
        visit(async (one, page) => {
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
    test('says so where nothing changed', async () =>
        visit(async (one) => {
            await one.go(
                `#/diff?${range(stretch(replay.windows[1]), 'bfrom', 'bto')}&${range(stretch(replay.windows[2]), 'afrom', 'ato')}&event=cpu-clock&by=unit`,
            );
            await one.sees(/Nothing changed that these samples could show/);
            await one.sees(/worker1\.service/);
        }));

    test('finds the unit whose CPU went away', async () =>
        visit(async (one, page) => {
            await one.go(
                `#/diff?${range(stretch(replay.windows[1]), 'bfrom', 'bto')}&${range(stretch(replay.windows.at(-2)), 'afrom', 'ato')}&event=cpu-clock&by=unit&force=true`,
            );
            await one.sees(/of \d+ changed/);
            const row = page.locator('tr', { hasText: 'worker1.service' });
            assert.match(await row.innerText(), /less/);
            const truth = truthBetween(...Object.values(stretch(replay.windows[1])));
            const before = (100 * truth.get(1).samples) / (truth.get(0).samples + truth.get(1).samples);
            const told = shown(await row.innerText(), /([\d.]+) %/);
            assert.ok(Math.abs(told - before) < 1, `${told} %, ${before} % in truth`);
            assert.equal(await page.locator('.flame-canvas').count(), 1);
        }));

    test('takes the last two windows by itself', async () =>
        visit(async (one, page) => {
            await one.go('#/diff');
            await one.sees(/What changed/);
            assert.match(page.url(), /bfrom=.*ato=/);
        }));
});

describe('Heat map', () => {
    test('shows each second’s samples, and a stretch as a flame graph', async () =>
        visit(async (one, page) => {
            const window = replay.windows[1];
            const { from, to } = stretch(window);
            await one.go(`#/heat?${range({ from, to })}&rows=10`);
            await one.sees(/2 CPUs/);
            const heat = await replay.daemon.get(`/v1/raw/heat?since=${from}000000&until=${to}000000&rows=10`);
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

    test('is dragged with the mouse', async () =>
        visit(async (one, page) => {
            await one.go(`#/heat?${range(stretch(replay.windows[1]))}`);
            await one.sees(/every CPU busy/);
            const box = await page.locator('.heat canvas').boundingBox();
            await page.mouse.move(box.x + box.width * 0.3, box.y + box.height * 0.5);
            await page.mouse.down();
            await page.mouse.move(box.x + box.width * 0.4, box.y + box.height * 0.5, { steps: 4 });
            await page.mouse.up();
            await one.sees(/Flame graph of raw samples/);
        }));

    test('says where no capture is kept', async () =>
        visit(async (one) => {
            one.allowed.push(/404/);
            await one.go('#/heat?from=2001-01-01T00:00:00Z&to=2001-01-01T00:01:00Z');
            await one.sees(/No raw capture holds that time/);
            await one.go('#/heat?from=2001-01-01T00:00:00Z&to=2001-01-01T01:00:00Z');
            await one.sees(/more than ten minutes/);
        }));
});

describe('Captures', () => {
    test('shows the command to copy', async () =>
        visit(async (one, page) => {
            one.allowed.push(/404|501/);
            await one.go('#/captures');
            await one.sees(/perfvigil capture -d 10s -F 999 -a/, '.command code >> nth=0');
            await page.locator('select[name="target"]').selectOption('unit');
            await page.locator('input[name="of"]').fill('nginx.service; rm -rf /');
            await page.locator('input[name="duration"]').fill('30s');
            await page.locator('input[name="label"]').fill("it's slow");
            const wanted = "perfvigil capture -d 30s -F 999 --unit 'nginx.service; rm -rf /' --label 'it'\\''s slow'";
            await until(
                'the command',
                async () => (await page.locator('.command code').first().innerText()) === wanted,
            );
            await page.getByRole('button', { name: 'copy' }).first().click();
            assert.equal(await page.evaluate(() => navigator.clipboard.readText()), wanted);
            const url = page.url();
            await one.go(url.slice(url.indexOf('#')));
            await until(
                'the command again',
                async () => (await page.locator('.command code').first().innerText()) === wanted,
            );
        }));
});
