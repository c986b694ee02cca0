/** Credentials in kubeconfigs, and the keys that seal them, are in no place where a user could read them. */
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import {
  approval,
  cluster as clusterKind,
  type Kind,
  type Operator,
  type OperatorInstallation,
  operatorDeployment,
  operatorInstallation,
  operator as operatorKind,
} from '../../../../src/api/index.ts';
import type { Client, KubernetesObject } from '../../../../src/runtime/index.ts';
import { coreSecrets } from '../../../../src/runtime/internal.ts';
import { readMetrics } from '../../../support/metrics.ts';
import { read } from '../http-get.ts';
import type { Show } from '../suite-context.ts';

/** A Kubernetes token: those used for rollouts last an hour. */
const tokenForm = /eyJ[\w-]{20,}\.eyJ[\w-]{20,}\.[\w-]{40,}/;

export function nowhereTests(show: () => Show): void {
  test('keys and tokens of clusters are not in etcd on disk', async () => {
    const { stage } = show();
    const file = join(dirname(stage.keys), 'etcd.db');
    // The files of all API servers, including overwritten values.
    await stage.management.etcd.snapshot(file);
    const raw = await readFile(file);
    expect(raw.includes('widgets.distant.example.com'), 'it is that etcd, and can be read').toBe(true);
    await expectNoneIn(show(), { etcd: raw });
    // Compressed values are searched uncompressed.
    for (const client of [stage.client, ...stage.targets.map((target) => target.client)])
      await expectNoneIn(show(), { packed: Buffer.from(await unpacked(client)) });
  });

  test('nor in logs, traces, metrics and responses of the REST API', async () => {
    const { log, collector, platform, stage } = show();
    const metrics = await readMetrics(platform.admission.url, stage.client);
    expect(metrics).toContain('kidp_operators_deployed_total');
    const answers = await restAnswers(show());
    expect(log.join('')).toContain('"event":"cluster.access"');
    await expectNoneIn(show(), {
      log: Buffer.from(log.join('')),
      traces: Buffer.from(JSON.stringify(collector.requests)),
      metrics: Buffer.from(metrics),
      rest: Buffer.from(answers.join('\n')),
    });
  });
}

async function expectNoneIn(show: Show, places: Readonly<Record<string, Buffer>>): Promise<void> {
  const secrets = await secretsOf(show);
  for (const [place, content] of Object.entries(places)) {
    const found = secrets.filter(({ secret }) => content.includes(secret)).map(({ what }) => what);
    expect(found, place).toEqual([]);
    expect(tokenForm.exec(content.toString('latin1'))?.[0].slice(0, 40), place).toBeUndefined();
  }
}

interface Kubeconfig {
  readonly users: readonly { readonly user: { readonly 'client-key-data'?: string; readonly token?: string } }[];
}

interface Secret {
  readonly what: string;
  readonly secret: Buffer;
}

/** Every encoding of the secret. */
async function secretsOf({ stage, far }: Show): Promise<Secret[]> {
  const { keys } = JSON.parse(await readFile(stage.keys, 'utf8')) as { keys: { d: string }[] };
  const sealing = keys.map(({ d }) => ({ what: 'a key to seal with', secret: Buffer.from(d) }));
  const texts = await Promise.all(stage.targets.map(({ plane }) => readFile(plane.kubeconfig, 'utf8')));
  const users = [...texts, far.kubeconfig].flatMap((text) => (parse(text) as Kubeconfig).users);
  const ofUsers = users.flatMap(({ user: { 'client-key-data': key, token } }): Secret[] => {
    if (token !== undefined) return [{ what: 'a token', secret: Buffer.from(token) }];
    const pem = Buffer.from(key ?? '', 'base64');
    const lines = pem
      .toString('utf8')
      .split('\n')
      .filter((line) => line.length >= 32 && !line.startsWith('-'));
    return [
      { what: 'a key, as it stands in the kubeconfig', secret: Buffer.from(key ?? '') },
      { what: 'a key, in bytes', secret: Buffer.from(lines.join(''), 'base64') },
      ...lines.map((line) => ({ what: 'a line of a key', secret: Buffer.from(line) })),
    ];
  });
  expect(ofUsers.length).toBeGreaterThan(stage.targets.length);
  const all = [...sealing, ...ofUsers];
  expect(all.filter(({ secret }) => secret.length < 32)).toEqual([]);
  return all;
}

/** Helm releases and snapshots are compressed in Secrets. */
async function unpacked(client: Client): Promise<string> {
  const { items } = await client.list(coreSecrets, {});
  return (items as { data?: Record<string, string> }[])
    .flatMap(({ data = {} }) => Object.values(data))
    .map((value) => {
      const bytes = Buffer.from(value, 'base64');
      const inner = Buffer.from(bytes.toString('latin1'), 'base64');
      const packed = [bytes, inner].find((each) => each[0] === 0x1f && each[1] === 0x8b);
      return (packed === undefined ? bytes : gunzipSync(packed)).toString('latin1');
    })
    .join('\n');
}

/** Everything that a user with every right can read: every GET path for every object. */
async function restAnswers({ platform, people, stage }: Show): Promise<string[]> {
  const { url = '' } = platform.rest ?? {};
  const token = await people.token('adam', 'kidp:admin');
  const all = async <T extends KubernetesObject>({ resource }: Kind): Promise<readonly T[]> =>
    (await stage.client.list<T>(resource, {})).items;
  const operators = await all<Operator>(operatorKind);
  const definitions = operators.flatMap(({ status }) =>
    (status?.versions ?? []).flatMap((version) => (version.definitions ?? []).map(({ name }) => name)),
  );
  const paths = [
    ...['operators', 'clusters', 'deployments', 'approvals?outcome=All', 'crds', 'clusters/sealing-key'],
    ...operators.flatMap(({ metadata: { name } }) => [`operators/${name}`, `operators/${name}/health`]),
    ...(await all(clusterKind)).flatMap(({ metadata: { name } }) => [`clusters/${name}`, `clusters/${name}/health`]),
    ...(await all<OperatorInstallation>(operatorInstallation)).map(
      ({ spec }) => `clusters/${spec.cluster}/operators/${spec.operator}/health`,
    ),
    ...[...new Set(definitions)].map((name) => `crds/${name}`),
    ...(await all(approval)).map(({ metadata: { uid } }) => `approvals/${uid}`),
    ...(await all(operatorDeployment)).flatMap(({ metadata: { uid } }) => [
      `deployments/${uid}`,
      `deployments/${uid}/rollback-status`,
    ]),
  ];
  await expectAllForms(url, token, paths);
  const answers: string[] = [];
  for (const path of paths) answers.push(await read(`${url}/api/v1/${path}`, { token }));
  expect(answers.join('\n')).toContain('"afar"');
  return answers;
}

/** One request for each GET path in the document. */
async function expectAllForms(url: string, token: string, paths: readonly string[]): Promise<void> {
  const document = JSON.parse(await read(`${url}/openapi.json`, { token })) as { paths: Record<string, object> };
  const forms = Object.entries(document.paths)
    .filter(([path, operations]) => path.startsWith('/api/v1/') && 'get' in operations)
    .map(([path]) => path);
  const isAsked = (form: string) => {
    const shape = new RegExp(`^${form.replace(/\{\w+\}/g, '[^/]+')}$`);
    return paths.some((path) => shape.test(`/api/v1/${path.split('?', 1)[0]}`));
  };
  expect(forms.filter((form) => !isAsked(form))).toEqual([]);
}
