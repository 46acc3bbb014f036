// SPDX-License-Identifier: GPL-2.0-or-later
// Profiles as the daemon would store them (docs/profile.proto in a zstd frame), as large as one likes.
import { PbfWriter } from 'pbf';

// Blocks that are stored as they are (RFC 8878, 3.1.1.2.2).
function zstd(content) {
    const kBlock = 128 * 1024;
    const parts = [Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0xa0]), Buffer.alloc(4)];
    parts[1].writeUInt32LE(content.length);
    for (let at = 0; at < content.length; at += kBlock) {
        const block = content.subarray(at, at + kBlock);
        const head = Buffer.alloc(3);
        head.writeUIntLE((at + kBlock >= content.length ? 1 : 0) | (block.length << 3), 0, 3);
        parts.push(head, block);
    }
    return Buffer.concat(parts);
}

// Stacks that make a tree of about `frames` frames below one thread, some wide and most narrow.
export function largeProfile(frames, start, end) {
    let seed = 12345;
    const random = () => (seed = (Math.imul(seed, 1103515245) + 12345) & 0x7fffffff) / 0x7fffffff;
    const names = Array.from({ length: 3000 }, (_, i) => `namespace_${i % 40}::function_with_a_name_${i}`);
    const depths = [];
    const functions = [];
    const weights = [];
    let made = 0;
    const path = [0];
    while (made < frames) {
        // A walk through the tree: up some frames, then down new ones.
        path.length = Math.max(1, Math.floor(random() * path.length));
        const down = 1 + Math.floor(random() * 12);
        for (let i = 0; i < down; ++i, ++made) path.push(1 + Math.floor(random() ** 2 * (names.length - 1)));
        depths.push(path.length);
        functions.push(...[...path].reverse());
        weights.push(Math.ceil(10101010 * (1 + random() ** 8 * 400)));
    }
    const total = weights.reduce((a, b) => a + b, 0);
    const pbf = new PbfWriter();
    const ns = (ms) => ms * 1e6;
    pbf.writeVarintField(1, 1);
    pbf.writeStringField(2, '20260131T120500Z');
    pbf.writeSVarintField(3, ns(start));
    pbf.writeSVarintField(4, ns(end));
    pbf.writeSVarintField(5, ns(end - start));
    pbf.writeMessage(
        7,
        (_, event) => {
            event.writeStringField(1, 'cpu-clock');
            event.writeVarintField(4, 99);
            event.writeVarintField(6, weights.length);
            event.writeVarintField(7, total);
        },
        null,
    );
    for (const name of names) pbf.writeStringField(8, name);
    pbf.writeStringField(9, '/usr/bin/large');
    pbf.writePackedVarint(
        10,
        names.map(() => 0),
    );
    pbf.writePackedVarint(
        11,
        names.map(() => 0),
    );
    pbf.writePackedVarint(12, depths);
    pbf.writePackedVarint(
        13,
        depths.map(() => 0),
    );
    pbf.writePackedVarint(14, functions);
    pbf.writeMessage(15, (_, context) => context.writeStringField(1, 'large'), null);
    pbf.writePackedVarint(
        16,
        weights.map(() => 0),
    );
    pbf.writePackedVarint(
        17,
        weights.map((_, i) => i),
    );
    pbf.writePackedVarint(
        18,
        weights.map(() => 0),
    );
    pbf.writePackedVarint(
        19,
        weights.map(() => 0),
    );
    pbf.writePackedVarint(
        20,
        weights.map(() => 1),
    );
    pbf.writePackedVarint(21, weights);
    return { bytes: zstd(Buffer.from(pbf.finish())), frames: made };
}
