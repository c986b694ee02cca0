/** The listeners besides the webhook as a process of their own: the status API, the REST API and a reference broker. Prints their ports as JSON. */
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Registry } from 'prom-client';
import {
  brokerVerifier,
  findBroker,
  kubernetesProvider,
  memoryKeyStore,
  openKeyRing,
  startBroker,
  startStatusApi,
} from '../../../src/broker/index.ts';
import { keysFromFile, openCharts } from '../../../src/fleet/index.ts';
import { startRest } from '../../../src/rest/index.ts';
import { connect, loadKubeconfig, silentLogger as log } from '../../../src/runtime/index.ts';
import { reviewedAccess } from '../../../src/runtime/internal.ts';

const client = connect(loadKubeconfig({ file: process.env.KUBECONFIG ?? '' }));
const folder = mkdtempSync(join(tmpdir(), 'kidp-listeners-'));
const registry = new Registry();
const status = await startStatusApi({
  verifier: brokerVerifier({ broker: (identity) => findBroker([], identity), audience: 'kidp', log }),
  sink: { receive: async () => ({ result: 'duplicate' }) },
  jwks: () => ({ keys: [] }),
  registry,
  log,
});
const keys = await openKeyRing(memoryKeyStore(), { issuer: 'local', subject: 'local' });
const broker = await startBroker({
  name: 'local',
  provider: await kubernetesProvider({
    ...{ broker: 'local', client, leaseClient: client, namespace: 'default', managementCluster: true, log },
    decrypt: (jwe) => keys.decrypt(jwe),
  }),
  keys,
  platform: { jwks: () => ({ keys: [] }), statusUrl: `${status.url}/v1/status` },
  http: {},
  registry: new Registry(),
  metricsAccess: reviewedAccess({ client, log }),
  log,
});
const rest = await startRest({
  client,
  systemNamespace: 'default',
  authentication: { issuer: 'https://issuer.example.com', audience: 'kidp', keys: { file: join(folder, 'none.json') } },
  charts: openCharts({ client, systemNamespace: 'default' }),
  sealingKeys: keysFromFile(join(folder, 'cluster-keys.json')),
  definitions: async () => [],
  log,
});
process.stdout.write(`${JSON.stringify({ status: status.port, rest: rest.port, broker: broker.port })}\n`);
