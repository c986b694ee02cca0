// `npm run e2e -- LANE…`: installs what is missing, then runs these lanes of tests (scripts/lanes.ts), or all.
import { join } from 'node:path';
import { ensureInstalled, root } from './install.mjs';
import { runOnNode } from './run-on-node.mjs';

const node = await ensureInstalled();
runOnNode(node, [join(root, 'scripts', 'test.ts'), 'e2e', ...process.argv.slice(2)]);
