// `npm test`: installs what is missing, then runs every test (scripts/test.ts). Arguments go to the test runner.
import { join } from 'node:path';
import { ensureInstalled, root } from './install.mjs';
import { runOnNode } from './run-on-node.mjs';

const node = await ensureInstalled();
runOnNode(node, [join(root, 'scripts', 'test.ts'), ...process.argv.slice(2)]);
