import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { crdFor, deployableKinds, kindNamed, kinds, type OpenApiSchema, openApiOf, rolloutPhases } from './index.ts';
import { structuralViolations } from './schema/index.ts';

test('all kinds exist, with the right scope', () => {
  const scopes = Object.fromEntries(kinds.map((kind) => [kind.kind, kind.scope]));
  expect(scopes).toEqual({
    Team: 'Cluster',
    Policy: 'Cluster',
    DeploymentTarget: 'Cluster',
    Broker: 'Cluster',
    Approval: 'Cluster',
    CRDRevision: 'Cluster',
    Operator: 'Cluster',
    Cluster: 'Cluster',
    OperatorDeployment: 'Cluster',
    OperatorInstallation: 'Cluster',
    Application: 'Namespaced',
    PolicyException: 'Namespaced',
    Database: 'Namespaced',
    Service: 'Namespaced',
    Cache: 'Namespaced',
    Topic: 'Namespaced',
    Secret: 'Namespaced',
  });
  expect(deployableKinds.map((kind) => kind.kind)).toEqual(['Database', 'Service', 'Cache', 'Topic', 'Secret']);
});

test('a kind is found by its name', () => {
  expect(kindNamed('Database')?.plural).toBe('databases');
  expect(kindNamed('Deployment')).toBeUndefined();
});

test('plural, singular and short names are unique', () => {
  const names = kinds.flatMap(({ plural, singular, shortName }) => [plural, singular, shortName]);
  expect(new Set(names).size).toBe(names.length);
});

describe.each(kinds.map((kind) => ({ name: kind.kind, kind })))('$name', ({ kind }) => {
  test('is structural, and every field has a description and bounds', () => {
    expect(structuralViolations(openApiOf(kind))).toEqual([]);
  });

  test('has no defaults inside lists of the spec, so that re-applying a manifest changes nothing', () => {
    expect(defaultsInLists(kind.spec.openapi, 'spec')).toEqual([]);
  });

  test('has a status subresource, phase, conditions by type, observedGeneration and an age', () => {
    const [version] = crdFor(kind).spec.versions;
    expect(version?.subresources.status).toEqual({});
    expect(version?.additionalPrinterColumns.map((column) => column.name)).toContain('Age');
    const { phase, conditions, observedGeneration } = kind.status.openapi.properties ?? {};
    const phases =
      kind.kind === 'OperatorDeployment' ? rolloutPhases : ['pending', 'deploying', 'ready', 'failed', 'unknown'];
    expect(phase?.enum).toEqual(phases);
    expect(conditions?.['x-kubernetes-list-map-keys']).toEqual(['type']);
    expect(observedGeneration?.type).toBe('integer');
  });

  test('every column shows a field that exists', () => {
    for (const { jsonPath } of kind.columns) {
      const path = jsonPath.replace(/\[[^\]]*\]/g, '[]').replace(/^\./, '');
      if (path !== 'metadata.creationTimestamp') expect(fieldAt(openApiOf(kind), path), jsonPath).toBeDefined();
    }
  });

  test('the example is of the kind', () => {
    expect(parse(kind.example)).toMatchObject({ apiVersion: 'platform.company.com/v1', kind: kind.kind });
  });

  test('has the same resource address as its CRD', () => {
    const { group, plural, version, namespaced } = kind.resource;
    const crd = crdFor(kind);
    expect(crd.metadata.name).toBe(`${plural}.${group}`);
    expect(crd.spec.versions[0]?.name).toBe(version);
    expect(crd.spec.scope === 'Namespaced').toBe(namespaced);
  });
});

describe.each(deployableKinds.map((kind) => ({ name: kind.kind, kind })))('$name is deployable', ({ kind }) => {
  test.each(['owner', 'targetRef', 'dependencies', 'costTags'])('spec.%s', (field) => {
    expect(kind.spec.openapi.properties).toHaveProperty(field);
  });
  test.each(['owner', 'deploymentId', 'bindings', 'outbox'])('status.%s', (field) => {
    expect(kind.status.openapi.properties).toHaveProperty(field);
  });
});

test('fields that a policy should be able to require have no default', () => {
  const filledIn = [
    ['Database', 'spec.backup'],
    ['Database', 'spec.backup.enabled'],
    ['Database', 'spec.size'],
    ['Topic', 'spec.replication'],
    ['Service', 'spec.loadBalancer.scope'],
    ['Service', 'spec.resources'],
  ].filter(([kind, path]) => {
    const found = kindNamed(kind ?? '');
    const field = found && fieldAt(openApiOf(found), path ?? '');
    return field === undefined || field.default !== undefined;
  });
  expect(filledIn).toEqual([]);
});

test.each([
  { kind: 'Cluster', field: 'environment', reason: 'it determines the required approvals' },
  { kind: 'OperatorDeployment', field: 'health', reason: 'an approved plan must not get weaker health checks' },
  { kind: 'OperatorDeployment', field: 'maxFailures', reason: 'an approved plan must not tolerate more failures' },
  { kind: 'OperatorDeployment', field: 'progressDeadline', reason: 'an approved plan must not get more time' },
  { kind: 'OperatorDeployment', field: 'helmTimeout', reason: 'an approved plan must not give Helm more time' },
  {
    kind: 'OperatorDeployment',
    field: 'rollbackOnFailure',
    reason: 'an approved plan must not stop rolling back on failure',
  },
  { kind: 'OperatorDeployment', field: 'reason', reason: 'approvers have read it' },
])('spec.$field of a $kind never changes: $reason', ({ kind, field }) => {
  const rules = kindNamed(kind)?.spec.openapi['x-kubernetes-validations'] ?? [];
  const rule = `has(self.${field}) == has(oldSelf.${field}) && (!has(self.${field}) || self.${field} == oldSelf.${field})`;
  expect(rules).toContainEqual(expect.objectContaining({ rule, fieldPath: `.${field}` }));
});

function defaultsInLists(schema: OpenApiSchema, path: string, inList = false): string[] {
  return [
    ...(inList && schema.default !== undefined ? [path] : []),
    ...Object.entries(schema.properties ?? {}).flatMap(([name, field]) =>
      defaultsInLists(field, `${path}.${name}`, inList),
    ),
    ...(schema.additionalProperties ? defaultsInLists(schema.additionalProperties, `${path}.*`, inList) : []),
    ...(schema.items ? defaultsInLists(schema.items, `${path}[]`, true) : []),
  ];
}

/** Returns the schema at a path such as `spec.ports[].name`. */
function fieldAt(schema: OpenApiSchema, path: string): OpenApiSchema | undefined {
  let here: OpenApiSchema | undefined = schema;
  for (const step of path.split('.')) {
    here = here?.properties?.[step.replace('[]', '')];
    if (step.endsWith('[]')) here = here?.items;
  }
  return here;
}
