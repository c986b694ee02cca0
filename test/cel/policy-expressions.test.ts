/**
 * Evaluates the table of policy expressions with the real API server, as ValidatingAdmissionPolicies, and with the
 * engine. The policies only warn, so one dry run reports every violated validation; errors are identified by the
 * message of the server.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Value } from '../../src/cel/index.ts';
import { type Cluster, sharedCluster, uniqueName } from '../support/cluster.ts';
import { admissionEnvironment } from './support/admission.ts';
import { authorizerOf } from './support/authorizer.ts';
import { answer, backends } from './support/engine.ts';
import { parseJson } from './support/json.ts';
import { type Group, groups, type Outcome, type Row } from './support/policy-expressions.ts';

/** The API server truncates the warnings of a request at 4,096 characters. */
const validationsInAPolicy = 12;
const environment = admissionEnvironment();
const written: string[] = [];

// Policies are deleted only at the end: once the last policy with params is gone, an API server does not find the
// params of the next one.
afterAll(async () => {
  const kinds = 'validatingadmissionpolicy,validatingadmissionpolicybinding';
  await sharedCluster().kubectl(['delete', kinds, ...written, '--ignore-not-found', '--wait=false']);
});

test('the table is long enough and has no duplicates', () => {
  const expressions = groups.flatMap(({ rows }) => rows.map(([expression]) => expression));
  expect(expressions.length).toBeGreaterThanOrEqual(150);
  for (const { rows } of groups) expect(new Set(rows.map(([expression]) => expression)).size).toBe(rows.length);
});

describe.each(groups)('$name', (group) => {
  let real: RealAnswers;
  beforeAll(async () => {
    real = await askServer(sharedCluster(), group);
  });

  test('the API server returns the expected results', () => {
    expect(group.rows.map(([expression]) => [expression, real.outcomes.get(expression)])).toEqual(
      group.rows.map(([expression, outcome]) => [expression, outcome]),
    );
  });

  test.each(backends)('the engine returns the same results as the API server (%s)', (backend) => {
    const authorizer = authorizerOf({
      user: real.user,
      // A member of system:masters may do everything, the service accounts of the table nothing.
      rules: [
        { user: real.user.name, decision: 'allow' },
        { user: real.user.name, path: '/healthz', decision: 'allow' },
      ],
      resource: { group: 'apps', resource: 'deployments', namespace: real.namespace, name: group.object.metadata.name },
    });
    const ours = group.rows.map(([expression]) => {
      const said = answer({ environment, expression, variables: { ...real.variables, ...authorizer }, backend });
      if (said.error !== undefined) return [expression, said.error.kind === 'check' ? 'invalid' : 'error'];
      return [expression, said.type?.kind === 'bool' ? String(said.value?.bool) : 'invalid'];
    });
    expect(ours).toEqual(group.rows.map(([expression]) => [expression, real.outcomes.get(expression)]));
  });
});

interface RealAnswers {
  readonly outcomes: ReadonlyMap<string, Outcome>;
  /** The variables that the expressions read. */
  readonly variables: Readonly<Record<string, Value>>;
  readonly user: { readonly name: string; readonly groups: readonly string[] };
  readonly namespace: string;
}

async function askServer(cluster: Cluster, group: Group): Promise<RealAnswers> {
  await definePlaceForAnything(cluster);
  const namespace = await cluster.uniqueNamespace('cel');
  const outcomes = new Map<string, Outcome>();
  const params = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'params' }, data: group.params };
  if (group.params !== undefined) await create(cluster, namespace, [params]);
  if (group.oldObject !== undefined) await create(cluster, namespace, [group.oldObject]);
  for (const expression of await refused(cluster, group)) outcomes.set(expression, 'invalid');

  let stored = '';
  const valid = group.rows.filter(([expression]) => !outcomes.has(expression));
  for (let start = 0; start < valid.length; start += validationsInAPolicy) {
    const rows = valid.slice(start, start + validationsInAPolicy);
    const policy = await writePolicy(cluster, namespace, rows, group.params !== undefined);
    const dryRun = await warningsOnce(cluster, namespace, group, policy);
    stored = dryRun.stored;
    for (const [index, [expression]] of rows.entries())
      outcomes.set(expression, outcomeIn(dryRun.warnings, index, expression));
  }
  const read = async (...what: string[]) =>
    parseJson((await cluster.kubectl(['get', '-n', namespace, ...what, '-o', 'json'])).stdout);
  const user = await whoAmI(cluster);
  return {
    outcomes,
    namespace,
    user: { name: user.username, groups: user.groups },
    variables: {
      object: parseJson(stored),
      oldObject: group.oldObject === undefined ? null : await read(group.oldObject.kind, group.oldObject.metadata.name),
      params: group.params === undefined ? null : await read('configmap', 'params'),
      namespaceObject: await read('namespace', namespace),
      request: {
        operation: group.oldObject === undefined ? 'CREATE' : 'UPDATE',
        kind: { group: 'apps', version: 'v1', kind: group.object.kind },
        resource: { group: 'apps', version: 'v1', resource: `${group.object.kind.toLowerCase()}s` },
        subResource: '',
        name: group.object.metadata.name,
        namespace,
        dryRun: true,
        userInfo: { username: user.username, groups: user.groups },
      },
    },
  };
}

/** Returns the expressions that the API server rejects when the policy is created. */
async function refused(cluster: Cluster, { rows, params }: Group): Promise<string[]> {
  const policy = policyOf('refused', rows, { parameters: params !== undefined });
  const { stderr } = await cluster.kubectl(['create', '--dry-run=server', '-f', '-'], { input: policy });
  const found = [...stderr.matchAll(/spec\.validations\[(\d+)\]\.expression: (?:Invalid value|Internal error)/g)];
  return found.map(([, index]) => (rows[Number(index)] as Row)[0]);
}

function policyOf(
  name: string,
  rows: readonly Row[],
  { namespace, parameters }: { namespace?: string; parameters: boolean },
): object {
  return {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingAdmissionPolicy',
    metadata: { name },
    spec: {
      failurePolicy: 'Fail',
      ...(parameters ? { paramKind: { apiVersion: 'v1', kind: 'ConfigMap' } } : {}),
      matchConstraints: {
        ...(namespace === undefined
          ? {}
          : { namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': namespace } } }),
        resourceRules: [{ apiGroups: ['*'], apiVersions: ['*'], operations: ['CREATE', 'UPDATE'], resources: ['*'] }],
      },
      validations: rows.map(([expression], index) => ({ expression, message: `row ${index}.` })),
    },
  };
}

async function writePolicy(
  cluster: Cluster,
  namespace: string,
  rows: readonly Row[],
  parameters: boolean,
): Promise<string> {
  const name = uniqueName('cel');
  written.push(name);
  const canary: Row = ['false', 'false', 'shows that the policy is enforced'];
  const binding = {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingAdmissionPolicyBinding',
    metadata: { name },
    spec: {
      policyName: name,
      validationActions: ['Warn'],
      ...(parameters ? { paramRef: { name: 'params', namespace, parameterNotFoundAction: 'Deny' } } : {}),
    },
  };
  await create(cluster, namespace, [policyOf(name, [...rows, canary], { namespace, parameters }), binding]);
  return name;
}

/** Returns the warnings of a dry run, once the API server has loaded the policy. */
async function warningsOnce(cluster: Cluster, namespace: string, group: Group, policy: string) {
  const deadline = Date.now() + 60_000;
  const verb = group.oldObject === undefined ? 'create' : 'replace';
  for (;;) {
    const flags = [verb, '--dry-run=server', '-n', namespace, '-o', 'json', '-f', '-'];
    const { stdout, stderr, code } = await cluster.kubectl(flags, { input: group.object });
    const warnings = stderr.split('\n').filter((line) => line.includes(`'${policy}'`));
    const lines = warnings.map((line) => line.slice(line.indexOf('binding')));
    if (code === 0 && lines.some((line) => /: row \d+\.$/.test(line))) return { warnings: lines, stored: stdout };
    if (Date.now() > deadline) throw new Error(`the policy ${policy} does not come into force: ${stderr}`);
    // The API server reloads policies once per second.
    await new Promise((resolve) => setTimeout(resolve, 400));
  }
}

function outcomeIn(warnings: readonly string[], index: number, expression: string): Outcome {
  if (warnings.some((line) => line.endsWith(`: row ${index}.`))) return 'false';
  // A long message is truncated; the start of the expression identifies it.
  const failed = `expression '${expression.replaceAll('\n', ' ').slice(0, 60)}`;
  return warnings.some((line) => line.includes(failed)) ? 'error' : 'true';
}

async function definePlaceForAnything(cluster: Cluster): Promise<void> {
  const crd = {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'anythings.cel.test.kidp.dev' },
    spec: {
      group: 'cel.test.kidp.dev',
      scope: 'Namespaced',
      names: { kind: 'Anything', plural: 'anythings' },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
        },
      ],
    },
  };
  const { code, stderr } = await cluster.kubectl(['apply', '-f', '-'], { input: crd });
  if (code !== 0) throw new Error(stderr);
  await cluster.kubectl(['wait', '--for=condition=Established', `crd/${crd.metadata.name}`, '--timeout=180s']);
}

/** Objects are created, not applied: kubectl would add an annotation that the expressions could see. */
async function create(cluster: Cluster, namespace: string, manifests: readonly object[]): Promise<void> {
  const { code, stderr } = await cluster.kubectl(['create', '-n', namespace, '-f', '-'], { input: [...manifests] });
  if (code !== 0) throw new Error(stderr);
}

async function whoAmI(cluster: Cluster): Promise<{ username: string; groups: string[] }> {
  const { stdout } = await cluster.kubectl(['auth', 'whoami', '-o', 'json']);
  return JSON.parse(stdout).status.userInfo;
}
