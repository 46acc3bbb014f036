// SPDX-License-Identifier: GPL-2.0-or-later
// Daemons and browsers for the page's tests and pictures. Everything lives in a folder of its own and listens on
// loopback only; the browser may speak to the daemon and to nobody else.
import { execFile, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { chromium } from 'playwright-core';

export const here = path.dirname(fileURLToPath(import.meta.url));
export const build = path.resolve(process.env.PERFVIGIL_BUILD ?? path.join(here, '../../build/release'));
const run = promisify(execFile);
const axeFile = createRequire(import.meta.url).resolve('axe-core/axe.min.js');

const kBrowsers = [
    process.env.PERFVIGIL_CHROMIUM,
    '/usr/bin/chromium',
    '/usr/bin/chromium-browser',
    '/usr/bin/google-chrome',
];
const browserFile = kBrowsers.find((file) => file && existsSync(file));

// Why nothing can be tested here; null: it can.
export function whyNot(besides = ['make_capture']) {
    if (!browserFile) return 'chromium is not installed (./dev deps)';
    for (const file of ['perfvigild', 'perfvigil', 'perfvigil-symbols', ...besides]) {
        if (!existsSync(path.join(build, file))) return `${path.join(build, file)} is not built`;
    }
    if (!existsSync(path.join(build, 'web/index.html')))
        return 'the page is not built (npm is not there, or could not fetch)';
    return null;
}

export const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

export async function until(what, holds, limit = 30_000) {
    const end = Date.now() + limit;
    let last;
    for (;;) {
        try {
            const value = await holds();
            if (value) return value;
            last = value;
        } catch (error) {
            last = error;
        }
        if (Date.now() > end) throw new Error(`${what}: not within ${limit / 1000} s (${last})`);
        await sleep(100);
    }
}

// A synthetic recording and what is true of it.
export async function makeCapture(folder, comm) {
    const file = path.join(folder, 'synthetic.perf.data');
    const truth = path.join(folder, 'truth.json');
    await run(path.join(build, 'make_capture'), [file, truth, comm]);
    return { file, truth: JSON.parse(await readFile(truth, 'utf8')) };
}

export class Daemon {
    static async start({ replay = null, slice = '5s', window = '20s', frequency = '99Hz', extra = '' } = {}) {
        const daemon = new Daemon();
        daemon.folder = await mkdtemp(path.join(os.tmpdir(), 'perfvigil-web-'));
        daemon.socket = path.join(daemon.folder, 'control.sock');
        daemon.captures = path.join(daemon.folder, 'captures');
        await mkdir(daemon.captures);
        const config = path.join(daemon.folder, 'perfvigil.yaml');
        await writeFile(
            config,
            [
                `recording: {slice: ${slice}, frequency: ${frequency}}`,
                `analysis: {window: ${window}, spread: 0s}`,
                `store: {dir: ${daemon.folder}/store}`,
                `captures: {dir: ${daemon.captures}}`,
                `sockets: {control: ${daemon.socket}, read: ""}`,
                'listen: {address: "127.0.0.1:0"}',
                extra,
                '',
            ].join('\n'),
        );
        const words = ['--config', config];
        if (replay !== null) words.push('--replay', replay, '--speed', '0');
        daemon.process = spawn(path.join(build, 'perfvigild'), words, { stdio: ['ignore', 'ignore', 'pipe'] });
        daemon.log = '';
        daemon.process.stderr.on('data', (bytes) => (daemon.log += bytes));
        await until('the daemon listens', () => existsSync(daemon.socket) && daemon.log.includes('listening'));
        if (replay !== null)
            await until('the replay ends', async () => (await daemon.get('/v1/status')).state === 'ended', 120_000);
        return daemon;
    }

    // By the control socket.
    async get(target) {
        const { stdout } = await run('curl', ['-sS', '--unix-socket', this.socket, `http://localhost${target}`], {
            maxBuffer: 64 << 20,
        });
        return JSON.parse(stdout);
    }

    // A command of perfvigil; what it prints.
    async command(name, ...words) {
        const { stdout } = await run(path.join(build, 'perfvigil'), [name, '--socket', this.socket, ...words]);
        return stdout.trim();
    }

    // An address that opens the page once.
    invitation() {
        return this.command('web');
    }

    async kill(signal = 'SIGTERM') {
        if (this.process.exitCode !== null || this.process.signalCode !== null) return;
        const ended = new Promise((done) => this.process.once('exit', done));
        this.process.kill(signal);
        await ended;
    }

    async close() {
        await this.kill();
        await rm(this.folder, { recursive: true, force: true });
    }
}

export const openBrowser = () =>
    chromium.launch({
        executablePath: browserFile,
        args: [
            '--no-sandbox',
            '--disable-background-networking',
            '--disable-component-update',
            '--disable-sync',
            '--no-first-run',
            '--no-default-browser-check',
            '--disable-domain-reliability',
        ],
    });

// A visit of the page by one browser context: its troubles are what a test ends with.
export class Visit {
    static async begin(browser, daemon, { width = 1280, height = 900, theme = 'light', open = true } = {}) {
        const visit = new Visit();
        visit.daemon = daemon;
        visit.context = await browser.newContext({
            viewport: { width, height },
            colorScheme: theme,
            acceptDownloads: true,
            timezoneId: 'UTC',
            locale: 'en-GB',
            permissions: ['clipboard-read', 'clipboard-write'],
        });
        visit.page = await visit.context.newPage();
        visit.troubles = [];
        visit.allowed = [];
        const note = (text) => {
            if (!visit.allowed.some((pattern) => pattern.test(text))) visit.troubles.push(text);
        };
        visit.page.on('console', (message) => {
            if (message.type() === 'error' || message.type() === 'warning') note(`console: ${message.text()}`);
        });
        visit.page.on('pageerror', (error) => note(`exception: ${error.stack ?? error.message}`));
        if (!open) return visit;
        const address = await daemon.invitation();
        visit.origin = new URL(address).origin;
        await visit.context.route('**/*', (route) => {
            if (new URL(route.request().url()).origin === visit.origin) return route.continue();
            note(`outside request: ${route.request().url()}`);
            return route.abort();
        });
        await visit.page.goto(address);
        return visit;
    }

    // A view by its address, as a bookmark would: the page is loaded anew.
    async go(hash) {
        await this.page.goto('about:blank');
        await this.page.goto(`${this.origin}/${hash}`);
    }

    text(selector = 'main') {
        return this.page.locator(selector).innerText();
    }

    async sees(text, selector = 'main', limit = 30_000) {
        await until(
            `“${text}” in ${selector}`,
            async () => (await this.text(selector)).replaceAll('\u202f', '').match(text),
            limit,
        );
    }

    // Faults of accessibility that are serious, in words.
    async faults() {
        await this.page.evaluate(await readFile(axeFile, 'utf8'));
        const { violations } = await this.page.evaluate(() =>
            globalThis.axe.run(document, {
                runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'best-practice'],
            }),
        );
        return violations
            .filter(({ impact }) => impact === 'serious' || impact === 'critical')
            .map(
                ({ id, help, nodes }) =>
                    `${id}: ${help}: ${nodes
                        .slice(0, 3)
                        .map(({ target }) => target.join(' '))
                        .join('; ')}`,
            );
    }

    async end() {
        await this.context.close();
        return this.troubles;
    }
}
