// `npm start`: installs what is missing, then runs `kidp up` (src/cli/up/run.ts).
import { join } from 'node:path';
import { ensureInstalled, root } from './install.mjs';
import { runOnNode } from './run-on-node.mjs';

const node = await ensureInstalled();
runOnNode(node, [join(root, 'src', 'cli', 'main.ts'), 'up', ...process.argv.slice(2)]);
