/**
 * The REST API with as much in the system as the requirement allows: 500 operators and 100 clusters. Every request has
 * a token that is verified, is made at the API server as its user, and passes admission. Nothing is rolled out
 * meanwhile, and the clusters of the stage, which would take most of this machine's CPU, are gone. Users take turns,
 * since each may ask only so often a minute.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { parseAllDocuments } from 'yaml';
import {
  API_VERSION,
  cluster as clusterKind,
  installationLabels,
  installationName,
  type Kind,
  operatorInstallation,
  operator as operatorKind,
} from '../../src/api/index.ts';
import { openCharts, openDefinitionStore } from '../../src/fleet/index.ts';
import { createCleanup, startComparing, startPlatform } from '../../src/platform/index.ts';
import { startRest } from '../../src/rest/index.ts';
import { type Client, type KubernetesObject, silentLogger } from '../../src/runtime/index.ts';
import { definitionFiles, largeDefinitions } from './definitions.ts';
import { type Figure, inParallel, percentile, say, timed } from './figures.ts';

import { type Stage, systemNamespace } from './stage.ts';

const table = 'API performance';
const [operators, clusters] = [500, 100];
/** On the cluster whose health is asked for, every operator; on so many others too. */
const crowdedClusters = 10;
const asked = 100;
const audience = 'kidp-bench';

export async function apiAtScale(stage: Stage): Promise<Figure[]> {
  const { client, keys, directory } = stage;
  const known = await largeDefinitions('validated', 1);
  await stage.addOperator([
    { name: 'validated', version: '1.0.0', definitionIn: 'nowhere', files: definitionFiles(known) },
  ]);
  await stage.stopRollouts();
  await fill(client);
  const undo = createCleanup();
  try {
    await addRoles(client);
    await startPlatform({ client, platformNamespace: systemNamespace }, undo);
    const { privateKey, publicKey } = await generateKeyPair('ES256');
    const jwks = join(directory, 'jwks.json');
    await writeFile(jwks, JSON.stringify({ keys: [{ ...(await exportJWK(publicKey)), kid: 'one', alg: 'ES256' }] }));
    const comparing = startComparing();
    undo.add('ending the comparisons', () => comparing.stop());
    const rest = await startRest({
      authentication: { keys: { file: jwks }, audience },
      client,
      systemNamespace,
      charts: openCharts({ client, systemNamespace }),
      sealingKeys: keys,
      compare: comparing.compare,
      definitions: (reference) => openDefinitionStore({ client, namespace: systemNamespace }).get(reference),
      log: silentLogger,
    });
    undo.add('closing the REST API', () => rest.stop());
    const tokenOf = (user: number) =>
      new SignJWT({ sub: `user-${user}`, groups: ['kidp:admin'] })
        .setProtectedHeader({ alg: 'ES256', kid: 'one' })
        .setAudience(audience)
        .setExpirationTime('1h')
        .sign(privateKey);
    const tokens = await Promise.all(Array.from({ length: asked / 10 }, (_, user) => tokenOf(user)));
    const ask = async (path: string, status: number, body?: (index: number) => object): Promise<number[]> => {
      const took: number[] = [];
      for (let index = 0; index < asked; index += 1) {
        const request = {
          headers: { authorization: `Bearer ${tokens[index % tokens.length]}`, 'content-type': 'application/json' },
          ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body(index)) }),
        };
        const { result, milliseconds } = await timed(async () => {
          const response = await fetch(`${rest.url}/api/v1${path}`, request);
          return { status: response.status, text: await response.text() };
        });
        if (result.status !== status) throw new Error(`${path} was answered ${result.status}: ${result.text}`);
        took.push(milliseconds);
      }
      return took;
    };
    const figures = [
      { what: 'GET /api/v1/operators, a page of 100', bound: 100, took: await ask('/operators', 200) },
      { what: 'GET /api/v1/operators, all 500', bound: 100, took: await ask('/operators?limit=500', 200) },
      {
        what: 'POST /api/v1/deployments',
        bound: 500,
        took: await ask('/deployments', 202, (index) => ({
          name: `asked-${index}`,
          operator: operatorName(index),
          version: '1.9.0',
          clusters: [clusterName(1), clusterName(2)],
          strategy: 'Canary',
        })),
      },
      {
        what: `GET /api/v1/clusters/{name}/health, ${operators} operators on it`,
        bound: 2000,
        took: await ask(`/clusters/${clusterName(0)}/health`, 200),
      },
    ];
    const [before] = known;
    const definition = narrowed(before);
    const validated = await ask(`/crds/${before?.metadata.name}/validate`, 200, () => ({ definition }));
    say(
      `the REST API, ${operators} operators, ${clusters} clusters, ${crowdedClusters * operators} installations: ${asked} requests of each`,
    );
    return [
      ...figures.flatMap(({ what, bound, took }): Figure[] => [
        { table, what: `${what}, p50`, value: percentile(took, 0.5), unit: 'ms', target: ['<', bound] },
        { table, what: `${what}, p99`, value: percentile(took, 0.99), unit: 'ms', target: ['<', bound] },
      ]),
      {
        table,
        what: 'CRD validation (FR-OP-004), p99',
        value: percentile(validated, 0.99) / 1000,
        unit: 's',
        target: ['<', 5],
      },
    ];
  } finally {
    for (const note of await undo.run()) process.stderr.write(`${note}\n`);
  }
}

/** With a field more that every object must have. */
function narrowed(definition: object | undefined): object {
  const copy = structuredClone(definition) as {
    spec: {
      versions: {
        schema: { openAPIV3Schema: { properties: { spec: { properties: object; required?: string[] } } } };
      }[];
    };
  };
  for (const { schema } of copy.spec.versions) {
    const { spec } = schema.openAPIV3Schema.properties;
    spec.properties = { ...spec.properties, added: { type: 'string' } };
    spec.required = [...(spec.required ?? []), 'added'];
  }
  return copy;
}

/** Those of manifests/rbac that the groups of users have. */
async function addRoles(client: Client): Promise<void> {
  for (const file of ['roles.yaml', 'bindings.yaml']) {
    const text = await readFile(join(import.meta.dirname, '..', '..', 'manifests', 'rbac', file), 'utf8');
    for (const document of parseAllDocuments(text)) {
      const object = document.toJS() as KubernetesObject & { kind: string };
      const plural = `${object.kind.toLowerCase()}s`;
      const resource = {
        group: 'rbac.authorization.k8s.io',
        version: 'v1',
        plural,
        kind: object.kind,
        namespaced: false,
      };
      await client.apply(resource, object, { fieldManager: 'bench', force: true });
    }
  }
}

const operatorName = (number: number): string => `registered-${number}`;
const clusterName = (number: number): string => `far-${number}`;

/** With the status that the platform would have written. */
async function fill(client: Client): Promise<void> {
  const now = new Date().toISOString();
  const add = async (kind: Kind, name: string, spec: object, status: object, labels = {}) => {
    const object = { apiVersion: API_VERSION, kind: kind.kind, metadata: { name, labels }, spec };
    await client.create(kind.resource, object as KubernetesObject);
    const body = { status };
    await client.patch(kind.resource, { name }, { type: 'merge', body }, { subresource: 'status' });
  };
  const conditions = [
    { type: 'Ready', status: 'True', reason: 'Ready', message: '', lastTransitionTime: now, observedGeneration: 1 },
  ];
  const versions = Array.from({ length: 10 }, (_, index) => ({
    version: `1.${9 - index}.0`,
    chartVersion: `1.${9 - index}.0`,
    state: 'Available',
    digest: `sha256:${'0'.repeat(64)}`,
    definitions: [1, 2, 3].map((each) => ({ name: `kind${each}.example.com`, digest: `sha256:${'0'.repeat(64)}` })),
    compatibility: 'safe',
    checkedAt: now,
  }));
  const numbers = (count: number) => Array.from({ length: count }, (_, number) => number);
  await inParallel(numbers(operators), 16, (number) =>
    add(
      operatorKind,
      operatorName(number),
      { namespace: operatorName(number), chart: { repository: 'https://charts.example.com', name: 'one' } },
      { versions, conditions, installations: crowdedClusters, healthyInstallations: crowdedClusters },
    ),
  );
  await inParallel(numbers(clusters), 16, (number) =>
    add(
      clusterKind,
      clusterName(number),
      { environment: 'Dev', credentials: {} },
      { health: 'Healthy', kubernetesVersion: 'v1.36.3', lastCheckedTime: now, operatorsCheckedTime: now, conditions },
    ),
  );
  const pairs = numbers(operators * crowdedClusters);
  await inParallel(pairs, 16, (pair) => {
    const [operator, cluster] = [operatorName(pair % operators), clusterName(Math.floor(pair / operators))];
    const healthy = { state: 'Healthy' };
    return add(
      operatorInstallation,
      installationName(operator, cluster),
      {
        operator,
        cluster,
        version: '1.9.0',
        snapshot: 'snapshot-0',
        namespace: operator,
        releaseName: operator,
        revision: 1,
      },
      { health: 'Healthy', since: now, controllerPods: 2, pods: healthy, webhook: healthy, reconciliation: healthy },
      installationLabels(operator, cluster),
    );
  });
}
