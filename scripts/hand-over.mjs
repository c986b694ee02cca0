// Runs a TypeScript entry of the project on the project's own Node, as if it were this process.
import { handOver as handOverTo } from '../bin/hand-over.js';
import { fail } from './install.mjs';
import { parents } from './lineage.mjs';

const startedBy = parents();

/** Should this process be killed, or the npm that runs it, the child sees its channel close and stops by itself. */
export function handOver(node, args) {
  const child = handOverTo(node, args, (error) =>
    fail(`${node} cannot be started (${error.message}): remove node_modules and run the command again.`),
  );
  // Without npm it may be meant to outlive the shell that started it.
  if (process.env.npm_lifecycle_event === undefined) return;
  const look = () => {
    if (parents() !== startedBy && child.connected) child.disconnect();
  };
  setInterval(look, 500).unref();
}
