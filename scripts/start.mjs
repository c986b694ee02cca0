// `npm start`: installs what is missing, then runs `kidp up` (src/cli/up/run.ts).
import { join } from 'node:path';
import { handOver } from './hand-over.mjs';
import { ensureInstalled, root } from './install.mjs';

const node = await ensureInstalled();
handOver(node, [join(root, 'src', 'cli', 'main.ts'), 'up', ...process.argv.slice(2)]);
