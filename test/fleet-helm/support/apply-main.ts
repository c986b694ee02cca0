/** Applies one snapshot in a process of its own, so that a test can kill it. */
import { openInstaller, openSnapshotStore } from '../../../src/fleet/index.ts';
import { connect, loadKubeconfig } from '../../../src/runtime/index.ts';

const [kubeconfig = '', program = '', systemNamespace = '', name = '', attempt = ''] = process.argv.slice(2);
const client = connect(loadKubeconfig({ file: kubeconfig }));
const snapshot = await openSnapshotStore({ client, namespace: systemNamespace }).get(name);
const connection = {
  cluster: 'here',
  environment: 'Dev',
  kubernetesVersion: 'v1.36.3',
  client,
  withKubeconfig: <Result>(use: (path: string) => Promise<Result>) => use(kubeconfig),
} as const;
await openInstaller({ helm: { program } }).apply(connection, snapshot, {
  attempt,
  timeoutMilliseconds: 180_000,
  context: {},
});
