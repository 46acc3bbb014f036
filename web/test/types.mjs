// SPDX-License-Identifier: GPL-2.0-or-later
// Whether the page's TypeScript is what it says.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const web = path.join(path.dirname(fileURLToPath(import.meta.url)), '..');
const compiler = path.join(web, 'node_modules/typescript/bin/tsc');
if (!existsSync(compiler)) {
    console.log('Skipped: npm has not fetched the compiler (build the target web)');
    process.exit(77);
}
process.exit(spawnSync(process.execPath, [compiler, '--noEmit', '--project', web], { stdio: 'inherit' }).status ?? 1);
