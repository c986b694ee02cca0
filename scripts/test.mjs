// `npm test`: installs what is missing, then runs every test (scripts/test.ts). Arguments go to the test runner.
import { join } from 'node:path';
import { handOver } from './hand-over.mjs';
import { ensureInstalled, root } from './install.mjs';

const node = await ensureInstalled();
handOver(node, [join(root, 'scripts', 'test.ts'), ...process.argv.slice(2)]);
