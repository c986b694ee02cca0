// Runs a TypeScript entry point on the project's own Node, in place of this process.
import { runOnNode as spawnOnNode } from '../bin/run-on-node.js';
import { fail } from './install.mjs';
import { parents } from './process-tree.mjs';

const startedBy = parents();

/** `runOnNode` starts the entry point. If this process or the npm that runs it is killed, the child sees its IPC channel close and stops. */
export function runOnNode(node, args) {
  const child = spawnOnNode(node, args, (error) =>
    fail(`${node} could not be started (${error.message}): remove node_modules, then run the command again.`),
  );
  // Without npm, the user may want it to outlive the shell that started it.
  if (process.env.npm_lifecycle_event === undefined) return;
  const checkParents = () => {
    if (parents() !== startedBy && child.connected) child.disconnect();
  };
  setInterval(checkParents, 500).unref();
}
