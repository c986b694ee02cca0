import { describe, expect, test } from 'vitest';
import { ApiError } from '../../../runtime/index.ts';
import { deadlineIn } from '../../review/deadline.ts';
import type { AdmissionRequest } from '../../review/decode.ts';
import { operatorsGate } from './gate.ts';

const rollout = (spec: object = {}) => ({
  metadata: { name: 'one' },
  spec: {
    operator: 'certificates',
    version: 'v1.2.0',
    clusters: ['dev-1', 'prod-1'],
    strategy: 'Rolling',
    health: { interval: 'PT30S', failureThreshold: 3, minimumSoak: 'PT0S' },
    progressDeadline: 'PT30M',
    helmTimeout: 'PT5M',
    ...spec,
  },
});

const requestOf = (object: object, oldObject?: object, kind = 'OperatorDeployment'): AdmissionRequest =>
  ({
    kind: { group: 'platform.company.com', version: 'v1', kind },
    name: 'one',
    operation: oldObject === undefined ? 'CREATE' : 'UPDATE',
    userInfo: { username: 'ada' },
    object,
    oldObject,
  }) as AdmissionRequest;

const reached = [{ type: 'RepositoryReachable', status: 'True' }];
const operatorWith = (
  versions: object[] | undefined,
  { listed, conditions = reached }: { listed?: string[]; conditions?: object[] } = {},
) => ({
  metadata: { name: 'certificates', generation: 2 },
  spec: { ...(listed && { versions: listed.map((version) => ({ version })) }) },
  status: { observedGeneration: 2, conditions, ...(versions && { versions }) },
});
const available = (version: string, more: object = {}) => ({
  version,
  chartVersion: version,
  state: 'Available',
  ...more,
});
const clusters = { 'dev-1': 'Dev', 'prod-1': 'Production' };

function gateOver({
  operator,
  error,
  environments = clusters,
  isSet = true,
  ...given
}: {
  operator?: object | undefined;
  error?: Error;
  environments?: Record<string, string>;
  /** Versions by cluster; undefined: they cannot be read. */
  installed?: Record<string, string> | undefined;
  /** Whether the gate knows which environments require an Approval: Production does. */
  isSet?: boolean;
}) {
  const get = async () => {
    if (error !== undefined) throw error;
    if (operator === undefined)
      throw new ApiError({ doing: 'get', status: 404, reason: 'NotFound', message: 'none' } as never);
    return operator;
  };
  const items = Object.entries(environments).map(([name, environment]) => ({
    metadata: { name },
    spec: { environment },
  }));
  const list = async ({ kind }: { kind: string }) => {
    const installed = 'installed' in given ? given.installed : {};
    if (kind === 'Cluster') return { items, metadata: {} };
    if (installed === undefined) throw new Error('forbidden');
    return { items: Object.entries(installed).map(([cluster, version]) => ({ spec: { cluster, version } })) };
  };
  const asksAboutBreaking = (environment: string) => environment === 'Production';
  return operatorsGate({ client: { get, list } as never, ...(isSet ? { asksAboutBreaking } : {}) });
}

const whole = operatorWith([available('v1.2.0'), available('v1.1.0')]);

interface Row {
  readonly reason: string;
  readonly spec?: object;
  readonly operator?: object;
  readonly error?: Error;
  readonly denied?: string;
  readonly warned?: string;
}

describe('a rollout that is created', () => {
  test.each<Row>([
    { reason: 'is admitted without warnings if everything is known' },
    { reason: 'may spell the version without v', spec: { version: '1.2.0' } },
    {
      reason: 'waits for an Operator',
      operator: undefined as never,
      warned: 'Operator "certificates" does not exist yet',
    },
    {
      reason: 'waits for the first look at the versions',
      operator: operatorWith(undefined),
      warned: 'are not known yet',
    },
    {
      reason: 'waits where the repository could not be reached',
      operator: operatorWith([available('v1.1.0')], { conditions: [] }),
      warned: 'are not known yet',
    },
    {
      reason: 'waits where its chart wants values, and it brings none',
      operator: operatorWith([available('v1.2.0', { doesNotRender: 'The chart does not render: set host' })]),
      spec: { values: {}, environmentValues: { Dev: {} } },
      warned: 'does not render with the default values of its chart, and spec.values is empty',
    },
    {
      reason: 'may render with values of its own',
      operator: operatorWith([available('v1.2.0', { doesNotRender: 'The chart does not render: set host' })]),
      spec: { environmentValues: { Production: { host: 'example.com' } } },
    },
    {
      reason: 'may render with values that are kept in a Secret',
      operator: operatorWith([available('v1.2.0', { doesNotRender: 'The chart does not render: set host' })]),
      spec: { valuesSecret: 'values' },
    },
    {
      reason: 'waits where we cannot look',
      error: new Error('away'),
      warned: 'could not be checked (the lookup failed)',
    },
    {
      reason: 'needs a version that there is',
      spec: { version: 'v9.0.0' },
      denied:
        'spec.version VersionNotFound: Operator "certificates" has no version "v9.0.0". Available versions: v1.2.0, v1.1.0',
    },
    {
      reason: 'needs a version that is listed',
      operator: operatorWith(undefined, { listed: ['v1.1.0'] }),
      denied: 'does not list version "v1.2.0". Available versions: v1.1.0',
    },
    {
      reason: 'needs a version that the repository has',
      operator: operatorWith([available('v1.2.0', { state: 'Missing', message: 'gone' })], { listed: ['v1.2.0'] }),
      denied: 'is not in its repository: gone',
    },
    {
      reason: 'needs a version that can be installed',
      operator: operatorWith([available('v1.2.0', { state: 'Invalid' })]),
      denied: 'cannot be installed',
    },
    {
      reason: 'gets a warning about breaking definitions',
      operator: operatorWith([available('v1.2.0', { compatibility: 'breaking' })]),
      warned: 'has breaking changes of CustomResourceDefinitions',
    },
    { reason: 'waits for a Cluster', spec: { clusters: ['dev-1', 'new'] }, warned: 'Cluster not found: "new"' },
    {
      reason: 'names no cluster that it leaves out',
      spec: { environments: ['Dev'] },
      denied: 'spec.clusters InvalidConfiguration: Cluster "prod-1" is in the environment Production',
    },
    {
      reason: 'is warned of all at once in Production',
      spec: { strategy: 'Direct' },
      warned: 'not recommended for Production',
    },
    { reason: 'is not where there is none', spec: { strategy: 'Direct', clusters: ['dev-1'] } },
    {
      reason: 'is warned where labels may reach Production',
      spec: { strategy: 'Direct', clusters: undefined, clusterSelector: {} },
      warned: 'not recommended for Production',
    },
    {
      reason: 'has stages that rise',
      spec: {
        strategy: 'Canary',
        canaryConfig: { initialPercentage: 10, incrementPercentage: 20, stages: [10, 10], evaluationPeriod: 'PT5M' },
      },
      denied: 'spec.canaryConfig.stages[1]',
    },
    {
      reason: 'has no more than all',
      spec: {
        strategy: 'Canary',
        canaryConfig: { initialPercentage: 60, incrementPercentage: 50, evaluationPeriod: 'PT5M' },
      },
      denied: 'exceeds 100 %',
    },
    {
      reason: 'has an order of its own clusters',
      spec: {
        rollingConfig: { clusterOrder: ['dev-1', 'dev-9'], validationPeriod: 'PT5M', pauseBetweenClusters: 'PT2M' },
      },
      denied: '"dev-9" is not in spec.clusters',
    },
    {
      reason: 'has each cluster once in its order',
      spec: {
        rollingConfig: { clusterOrder: ['dev-1', 'dev-1'], validationPeriod: 'PT5M', pauseBetweenClusters: 'PT2M' },
      },
      denied: '"dev-1" is listed twice',
    },
    {
      reason: 'has time for what it waits for',
      spec: { progressDeadline: 'PT5M', rollingConfig: { validationPeriod: 'PT5M', pauseBetweenClusters: 'PT2M' } },
      denied: 'spec.progressDeadline InvalidConfiguration: PT5M is not longer than spec.rollingConfig.validationPeriod',
    },
    { reason: 'gives Helm some time', spec: { helmTimeout: 'PT0S' }, denied: 'spec.helmTimeout' },
  ])('$reason', async (row) => {
    const { spec, error, denied, warned } = row;
    const operator = 'operator' in row ? row.operator : whole;
    const gate = gateOver({ operator, ...(error && { error }) });
    const found = await gate.evaluate(requestOf(rollout(spec)), deadlineIn(60_000));
    const said = found.violations
      .map(({ field, code, message, next }) => `${field} ${code}: ${message}. ${next}`)
      .join('\n');
    if (denied === undefined) expect(said).toBe('');
    else expect(said).toContain(denied);
    if (warned === undefined) expect(found.warnings).toEqual([]);
    else expect(found.warnings.join('\n')).toContain(warned);
  });

  test('is checked for contradictions only, without a cluster', async () => {
    const { violations } = await operatorsGate({}).evaluate(
      requestOf(rollout({ helmTimeout: 'PT0S' })),
      deadlineIn(60_000),
    );
    expect(violations).toHaveLength(1);
  });
});

describe('a rollout whose definitions break those who use the version before', () => {
  const breaking = operatorWith([available('v1.2.0', { compatibility: 'breaking' }), available('v1.1.0')]);
  test.each<{ reason: string; given: Partial<Parameters<typeof gateOver>[0]>; spec?: object; denied?: string }>([
    {
      reason: 'is denied where the version before is there, and nobody is asked',
      given: { installed: { 'dev-1': '1.1.0' } },
      denied: 'spec.allowBreaking: "v1.1.0" is installed in Dev, where no Approval is required',
    },
    {
      reason: 'is denied where labels select such a cluster',
      given: { installed: { 'dev-1': 'v1.1.0' } },
      spec: { clusters: undefined, clusterSelector: {} },
      denied: 'is installed in Dev',
    },
    {
      reason: 'is admitted if the requester allows it',
      given: { installed: { 'dev-1': 'v1.1.0' } },
      spec: { allowBreaking: true },
    },
    { reason: 'waits for an Approval where one is asked for', given: { installed: { 'prod-1': 'v1.1.0' } } },
    { reason: 'is admitted if the previous version is not installed', given: {} },
    {
      reason: 'is admitted if the previous version is installed elsewhere',
      given: { installed: { 'dev-1': 'v1.1.0' } },
      spec: { clusters: ['prod-1'] },
    },
    {
      reason: 'waits in Planning where another version is there: what becomes of that is not known',
      given: { installed: { 'dev-1': 'v1.0.0' } },
    },
    { reason: 'waits in Planning if installations cannot be read', given: { installed: undefined } },
    {
      reason: 'waits in Planning where who is asked is not known',
      given: { installed: { 'dev-1': 'v1.1.0' }, isSet: false },
    },
  ])('$reason', async ({ given, spec, denied }) => {
    const gate = gateOver({ operator: breaking, ...given });
    const { violations, warnings } = await gate.evaluate(requestOf(rollout(spec)), deadlineIn(60_000));
    const said = violations.map(({ field, message }) => `${field}: ${message.replace(/^.*?: /, '')}`).join('\n');
    if (denied === undefined) expect(said).toBe('');
    else expect(said).toContain(denied);
    expect(warnings.length, 'an admitted rollout has a warning').toBe(denied === undefined ? 1 : 0);
  });
});

describe('a rollback', () => {
  const asking = (allowed: boolean) => operatorsGate({ ask: () => async () => [{ allowed }] as never });
  test.each([
    { reason: 'by who may', allowed: true, codes: [] },
    { reason: 'by a user without the verb', allowed: false, codes: ['RollbackForbidden'] },
  ])('$reason', async ({ allowed, codes }) => {
    const request = requestOf(rollout({ rollback: true }), rollout());
    const found = await asking(allowed).evaluate(request, deadlineIn(60_000));
    expect(found.violations.map(({ code }) => code)).toEqual(codes);
    expect(found.auditAnnotations).toEqual(allowed ? { rollback: 'ada' } : undefined);
  });

  test('is not asked about again, nor is any other change', async () => {
    const gate = asking(false);
    for (const [after, before] of [
      [rollout({ rollback: true, paused: true }), rollout({ rollback: true })],
      [rollout({ paused: true }), rollout()],
    ] as const)
      expect((await gate.evaluate(requestOf(after, before), deadlineIn(60_000))).violations).toEqual([]);
  });
});

test('an Operator lists a version once, with or without v', async () => {
  const judge = (versions: string[]) =>
    operatorsGate({}).evaluate(
      requestOf({ spec: { versions: versions.map((version) => ({ version })) } }, undefined, 'Operator'),
      deadlineIn(60_000),
    );
  expect((await judge(['1.2.0', 'v1.2.0'])).violations).toMatchObject([{ field: 'spec.versions[1].version' }]);
  expect((await judge(['1.2.0', '1.2.1'])).violations).toEqual([]);
});
