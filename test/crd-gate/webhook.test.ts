/** The webhook of the gate: what it is asked about, who else judges there, and what goes on while nobody answers. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Admission, startAdmission, startPolicySource } from '../../src/admission/index.ts';
import { crdFor, database } from '../../src/api/index.ts';
import type { UnknownObject } from '../../src/runtime/index.ts';
import { eventually } from '../../src/runtime/testing/index.ts';
import { applyPolicy, configurations, definitions, platformNamespace, policy } from '../admission/support/platform.ts';
import {
  change,
  type Definition,
  deep,
  define,
  type GatePlane,
  patient,
  refusalOf,
  size,
  startGatePlane,
  widgets,
} from './support/platform.ts';

let plane: GatePlane;
beforeAll(async () => {
  plane = await startGatePlane();
});
afterAll(() => plane?.stop());

const webhooksOf = async () => {
  const { webhooks } = await plane.client.get<UnknownObject & { webhooks: Record<string, unknown>[] }>(
    configurations('Validating'),
    { name: 'kidp-admission' },
  );
  return webhooks.filter(({ name }) => String(name).includes('crds'));
};

describe('with policies on definitions', () => {
  let admission: Admission;
  let source: ReturnType<typeof startPolicySource>;
  beforeAll(async () => {
    source = startPolicySource({ client: plane.client, platformNamespace, exceptionNamespaces: [] });
    admission = await startAdmission({
      client: plane.client,
      platformNamespace,
      policies: source,
      mapping: () => source.mapping,
      crds: {},
    });
    const named = policy('named', ['apiextensions.k8s.io/v1/CustomResourceDefinition'], 'has(object.metadata.labels)', {
      rule: { message: 'definitions carry labels' },
    });
    await applyPolicy(plane.client, named);
    await applyPolicy(plane.client, policy('any', ['*/*/*'], "!object.metadata.name.startsWith('forbidden')"));
    await eventually(async () => {
      const said = await refusalOf(() => change(plane.client, widgets('forbidden', size({})), { dryRun: true }));
      return said.includes('policy named') && said.includes('policy any');
    }, patient);
  });
  afterAll(async () => {
    await admission?.stop();
    await source?.stop();
  });

  test('one denial lists what the gate and every policy have found', async () => {
    const before = widgets('both', size({}));
    before.metadata.labels = { mine: 'yes' };
    await define(plane.client, before);
    const said = await refusalOf(() =>
      change(plane.client, widgets('both', size({ maximum: 1 })), { fieldManager: 'test' }),
    );
    expect(said).toContain('"validate-crds.kidp.platform.company.com" denied the request');
    expect(said).toContain('crd compatibility: both.gate.example.com: 1 breaking change');
    expect(said).toMatch(/policy named, rule only: metadata\.labels [^\n]*definitions carry labels/);
  });

  test('a definition is sent to one webhook only, whatever the policies say', async () => {
    const { webhooks } = await plane.client.get<
      UnknownObject & { webhooks: { name: string; rules: unknown; matchConditions?: { name: string }[] }[] }
    >(configurations('Validating'), { name: 'kidp-admission' });
    const others = webhooks.filter(({ name }) => !name.includes('crds'));
    expect(JSON.stringify(others.map(({ rules }) => rules))).not.toContain('customresourcedefinitions');
    const open = others.filter(({ rules }) => JSON.stringify(rules).includes('"apiGroups":["*"]'));
    expect(open.length).toBeGreaterThan(0);
    for (const { matchConditions = [] } of open)
      expect(matchConditions.map(({ name }) => name)).toContain('not-definitions');
  });
});

describe('alone', () => {
  test('it has time to read objects, and is asked about definitions themselves, everywhere', async () => {
    await plane.gate();
    const [others, own] = await webhooksOf();
    expect(others).toMatchObject({
      name: 'validate-crds.kidp.platform.company.com',
      timeoutSeconds: 30,
      failurePolicy: 'Fail',
      namespaceSelector: {},
      rules: [
        {
          apiGroups: ['apiextensions.k8s.io'],
          resources: ['customresourcedefinitions'],
          operations: ['CREATE', 'DELETE', 'UPDATE'],
        },
      ],
    });
    expect(own).toMatchObject({ name: 'validate-platform-crds.kidp.platform.company.com', failurePolicy: 'Ignore' });
  });

  test('changes of its own kinds are judged too', async () => {
    const definition = crdFor(database);
    const [version] = definition.spec.versions;
    const { engine: _, ...rest } = version?.schema.openAPIV3Schema.properties?.spec?.properties ?? {};
    const narrower = structuredClone(definition) as unknown as Definition;
    Object.assign(narrower.spec.versions[0] as object, {
      schema: { openAPIV3Schema: { type: 'object', properties: { spec: { type: 'object', properties: rest } } } },
    });
    const said = await refusalOf(() => change(plane.client, narrower, { dryRun: true }));
    expect(said).toContain(
      '"validate-platform-crds.kidp.platform.company.com" denied the request: crd compatibility: databases.platform.company.com',
    );
  });

  test('a definition that is too deep is denied in a moment, and a later one judged as ever', async () => {
    expect(await refusalOf(() => change(plane.client, widgets('abyss', deep(450))))).toContain('crd compatibility');
    expect(await refusalOf(() => change(plane.client, widgets('shallow', size({}))))).toBe('');
  });
});

test('while nobody answers, definitions wait, and those of the platform can be installed', async () => {
  await plane.gate();
  const stored = await plane.client.get(configurations('Validating'), { name: 'kidp-admission' });
  const crdsAway = structuredClone(stored) as UnknownObject & {
    webhooks: { name: string; clientConfig: { url: string } }[];
  };
  for (const { clientConfig } of crdsAway.webhooks) clientConfig.url = clientConfig.url.replace(/:\d+\//, ':1/');
  await plane.client.update(configurations('Validating'), crdsAway);
  await eventually(
    async () =>
      (await refusalOf(() => change(plane.client, widgets('waiting', size({}))))).includes('failed calling webhook'),
    patient,
  );
  const relabelled = {
    ...crdFor(database),
    metadata: { name: 'databases.platform.company.com', labels: { again: 'yes' } },
  };
  expect(
    await refusalOf(() => plane.client.apply(definitions, relabelled, { fieldManager: 'again', force: true })),
  ).toBe('');
  const { metadata } = await plane.client.get(definitions, { name: 'databases.platform.company.com' });
  expect(metadata.labels).toEqual({ again: 'yes' });
});
