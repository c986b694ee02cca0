import { execFileSync } from 'node:child_process';
import { hostname } from 'node:os';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Loose, memoryCluster } from '../../../test/support/memory-cluster.ts';
import { replicaLease } from '../../api/index.ts';
import { leases } from '../../runtime/internal.ts';
import { type Admission, startAdmission } from '../server/start.ts';
import { configurationName, installationAnnotation, managedByLabel, phases } from './build.ts';
import { ensureNoOtherInstallation } from './other-installations.ts';

let living: Admission;
let stranger: Admission;
beforeAll(async () => {
  [living, stranger] = await Promise.all([startAdmission(), startAdmission()]);
});
afterAll(async () => {
  await Promise.all([living?.stop(), stranger?.stop()]);
});

const ended = execFileSync(process.execPath, ['-p', 'process.pid'], { encoding: 'utf8' }).trim();
const url = (at: string, caBundle = '') => ({
  url: `${at}/validate`,
  caBundle: Buffer.from(caBundle).toString('base64'),
});
const leftBy = (clientConfig: object, metadata: object = {}): Loose => ({
  metadata: { name: configurationName, labels: { [managedByLabel]: 'kidp' }, ...metadata },
  webhooks: [{ name: 'validate.kidp.platform.company.com', clientConfig }],
});
const nobody = 'https://127.0.0.1:1';
const report = (identity: string, age: number) =>
  replicaLease('kube-system', { identity, appliedVersion: '1', revision: '', absent: [] }, 30, Date.now() - age);

const rows: {
  reason: string;
  configuration?: () => Loose;
  lease?: () => object;
  refused?: string;
}[] = [
  { reason: 'nothing of kidp is there' },
  {
    reason: 'an installation behind a Service, whether or not a replica runs',
    configuration: () => leftBy({ service: { namespace: 'kidp-system', name: 'kidp', path: '/validate', port: 443 } }),
    refused: 'config/installed',
  },
  {
    reason: 'an installation at an address, whether or not a replica runs',
    configuration: () => leftBy(url(nobody), { annotations: { [installationAnnotation]: 'kidp-system/kidp' } }),
    refused: 'config/installed',
  },
  {
    reason: 'a replica elsewhere that has not written its configurations yet',
    lease: () => report('elsewhere-7', 5_000),
    refused: 'config/served',
  },
  {
    reason: 'a replica of this machine that runs',
    lease: () => report(`${hostname()}-${process.pid}`, 5_000),
    refused: 'config/served',
  },
  {
    reason: 'what is left of a run that was killed here a moment ago',
    configuration: () => leftBy(url(nobody, living.caBundle)),
    lease: () => report(`${hostname()}-${ended}`, 1_000),
  },
  {
    reason: 'what is left of a run that was killed elsewhere a while ago',
    configuration: () => leftBy(url(nobody, living.caBundle)),
    lease: () => report('elsewhere-7', 60_000),
  },
  {
    reason: 'a run without a Lease that answers as who it was installed for',
    configuration: () => leftBy(url(living.url, living.caBundle)),
    refused: 'config/served',
  },
  {
    reason: 'what is left of a run whose port somebody else has by now',
    configuration: () => leftBy(url(stranger.url, living.caBundle)),
  },
  {
    reason: 'a configuration that kidp did not create: it is reported when kidp writes its own',
    configuration: () => ({ metadata: { name: configurationName } }),
  },
];

test.each(rows)('a cluster is joined where nobody serves it: $reason', async ({ configuration, lease, refused }) => {
  for (const { resource } of phases) {
    const cluster = memoryCluster([leases, ...phases.map((phase) => phase.resource)]);
    if (configuration !== undefined) cluster.put(resource, configuration());
    if (lease !== undefined) cluster.put(leases, lease() as Loose);
    const code = await ensureNoOtherInstallation(cluster.client).then(
      () => undefined,
      (error: unknown) => (error as { code?: unknown }).code,
    );
    expect(code).toBe(refused);
  }
});
