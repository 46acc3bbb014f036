// SPDX-License-Identifier: GPL-2.0-or-later
// Bundles the page into one folder of static files: node build.mjs [FOLDER]
import { build } from 'esbuild';
import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const here = path.dirname(fileURLToPath(import.meta.url));
const out = path.resolve(process.argv[2] ?? path.join(here, 'dist'));

await rm(out, { recursive: true, force: true });
await mkdir(out, { recursive: true });
await build({
    absWorkingDir: here,
    entryPoints: { app: 'src/main.ts', style: 'src/style.css' },
    outdir: out,
    bundle: true,
    minify: true,
    format: 'iife',
    target: ['chrome109', 'firefox115', 'safari16'],
    charset: 'utf8',
    legalComments: 'none',
    logLevel: 'warning',
});
for (const file of ['index.html', 'icon.svg']) await cp(path.join(here, 'src', file), path.join(out, file));

// The licences of what was bundled go with it.
const manifest = JSON.parse(await readFile(path.join(here, 'package.json'), 'utf8'));
let licences = '';
for (const name of Object.keys(manifest.dependencies)) {
    const folder = path.join(here, 'node_modules', name);
    const { version } = JSON.parse(await readFile(path.join(folder, 'package.json'), 'utf8'));
    licences += `${name} ${version}\n\n${await readFile(path.join(folder, 'LICENSE'), 'utf8')}\n\n`;
}
await writeFile(path.join(out, 'licences.txt'), licences);
