// SPDX-License-Identifier: GPL-2.0-or-later
// Who is let in, and what holds for all views: accessibility, keyboard, width, what is said where there is nothing.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { until, Visit } from './harness.mjs';
import { range, replay, stretch, visit } from './replay.mjs';

const kViews = ['now', 'flame', 'diff', 'heat', 'captures'];

describe('the door', () => {
    test('an address opens once', async () => {
        const one = await Visit.begin(replay.browser, replay.daemon);
        const again = await replay.daemon.invitation();
        await one.page.goto(again);
        assert.equal(new URL(one.page.url()).pathname, '/');
        await one.end();
        const stranger = await replay.browser.newContext();
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
        const one = await Visit.begin(replay.browser, replay.daemon);
        const { origin } = one;
        const elsewhere = await one.context.newPage();
        await one.context.unroute('**/*');
        await one.context.route('http://elsewhere.test/**', (route) =>
            route.fulfill({ contentType: 'text/html', body: '<p>elsewhere' }),
        );
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
        const framed = await elsewhere.evaluate(
            (target) =>
                new Promise((done) => {
                    const frame = document.createElement('iframe');
                    frame.onload = () =>
                        done(
                            frame.contentDocument === null ? 'kept out' : (frame.contentDocument.body?.innerText ?? ''),
                        );
                    frame.src = target;
                    document.body.append(frame);
                }),
            origin,
        );
        assert.doesNotMatch(String(framed), /Flame graph/);
        await one.context.close();
    });

    test('the policy forbids markup from text', async () =>
        visit(async (one, page) => {
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

describe('every view', () => {
    for (const theme of ['light', 'dark']) {
        for (const width of [1280, 360]) {
            test(`has no serious fault of accessibility, ${theme}, ${width} px`, async () =>
                visit(
                    async (one, page) => {
                        one.allowed.push(/404|501/);
                        const addresses = {
                            flame: `flame?${range(stretch(replay.windows[1]))}&search=w`,
                            heat: `heat?${range(stretch(replay.windows[1]))}`,
                        };
                        for (const view of kViews) {
                            await one.go(`#/${addresses[view] ?? view}`);
                            await until(
                                `${view} is there`,
                                async () =>
                                    (await page.locator('main .card').count()) > 0 &&
                                    (await page.locator('.waiting').count()) === 0,
                            );
                            assert.deepEqual(await one.faults(), [], view);
                            const [inside, outside] = await page.evaluate(() => [
                                document.documentElement.scrollWidth,
                                innerWidth,
                            ]);
                            assert.ok(inside <= outside, `${view} is ${inside} px wide`);
                        }
                    },
                    { theme, width },
                ));
        }
    }

    test('can be walked by keyboard alone', async () =>
        visit(async (one, page) => {
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

    test('keeps the chosen colours', async () =>
        visit(async (one, page) => {
            await page.getByRole('button', { name: 'use dark colours' }).click();
            await page.reload();
            assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), 'dark');
        }));

    test('says what there is not', async () =>
        visit(async (one) => {
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

    test('says that its session has ended', async () =>
        visit(async (one) => {
            one.allowed.push(/40[13]/);
            await one.context.clearCookies();
            await one.page.evaluate(() => (location.hash = '#/flame'));
            await one.sees(/This session has ended/);
        }));
});
