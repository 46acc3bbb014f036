#!/usr/bin/env node
// SPDX-License-Identifier: GPL-2.0-or-later
// page.mjs BUILD FOLDER: the pictures of the page that README and docs/page.md show, of this host under a small load.
import { spawn } from "node:child_process";
import { mkdir } from "node:fs/promises";
import path from "node:path";

const [, , build, folder] = process.argv;
process.env.PERFVIGIL_BUILD = build;
const { Daemon, openBrowser, sleep, until, Visit, whyNot } =
  await import("../../web/test/harness.mjs");

const kWindow = 20; // seconds
const kLead = 4; // windows of the first load, and of the second

const why = whyNot([]);
if (why !== null) {
  console.error(`pictures: ${why}`);
  process.exit(1);
}

// Works for a part of each second, which the heat map shows.
function pulse(program, words, on, off) {
  let child = null;
  let ended = false;
  void (async () => {
    while (!ended) {
      child = spawn(path.join(build, "clients", program), words, {
        stdio: "ignore",
      });
      await sleep(on);
      child.kill();
      await sleep(off);
    }
  })();
  return () => {
    ended = true;
    child?.kill();
  };
}

async function take(visit, name, hash, ready, act = async () => undefined) {
  await visit.go(hash);
  await visit.sees(ready, "main", 60_000);
  await sleep(1500);
  await act(visit.page);
  await sleep(300);
  await visit.page.screenshot({ path: path.join(folder, `page-${name}.png`) });
  console.log(`${folder}/page-${name}.png`);
}

await mkdir(folder, { recursive: true });
const daemon = await Daemon.start({ slice: "2s", window: `${kWindow}s` });
const browser = await openBrowser();
const stops = [pulse("split70_30", [], 420, 580)];
try {
  const count = async () => (await daemon.get("/v1/windows")).total;
  await until(
    "the first windows",
    async () => (await count()) >= kLead,
    240_000,
  );
  stops.push(pulse("recursion", [], 150, 250));
  await until(
    "all windows",
    async () => (await count()) >= 2 * kLead + 1,
    240_000,
  );
  const windows = (await daemon.get("/v1/windows")).windows.reverse();
  const range = (first, last, a = "from", b = "to") =>
    `${a}=${windows.at(first).start}&${b}=${windows.at(last).end}`;
  const visit = await Visit.begin(browser, daemon, { height: 860 });
  await take(visit, "now", "#/now", /CPU 0/);
  await take(
    visit,
    "flame",
    `#/flame?${range(-3, -1)}&threads=off`,
    /samples of/,
    (page) => page.mouse.wheel(0, 260),
  );
  await take(
    visit,
    "diff",
    `#/diff?${range(0, kLead - 1, "bfrom", "bto")}&${range(-3, -1, "afrom", "ato")}`,
    /What changed/,
    (page) => page.mouse.wheel(0, 240),
  );
  await take(visit, "heat", `#/heat?${range(-4, -1)}`, /every CPU busy/);
  const troubles = await visit.end();
  if (troubles.length > 0) throw new Error(troubles.join("\n"));
} finally {
  for (const stop of stops) stop();
  await browser.close();
  await daemon.close();
}
