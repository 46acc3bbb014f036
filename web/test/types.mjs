// SPDX-License-Identifier: GPL-2.0-or-later
// Whether the page's TypeScript is what it says, and everything laid out by the same rules.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const web = path.join(path.dirname(fileURLToPath(import.meta.url)), '..');
const run = (script, ...words) =>
    spawnSync(process.execPath, [path.join(web, 'node_modules', script), ...words], { cwd: web, stdio: 'inherit' })
        .status;

if (!existsSync(path.join(web, 'node_modules/typescript'))) {
    console.log('Skipped: npm has not fetched the compiler (build the target web)');
    process.exit(77);
}
const faults = [
    run('typescript/bin/tsc', '--noEmit'),
    run(
        'prettier/bin/prettier.cjs',
        '--check',
        '--log-level=warn',
        'src',
        'test',
        'build.mjs',
        '../packaging/pictures/page.mjs',
    ),
];
process.exit(faults.every((status) => status === 0) ? 0 : 1);
