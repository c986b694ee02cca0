/**
 * Evaluates native policies with the real API server and with the engine: the same requests yield the same results. The
 * test has its own API server, because it compares the audit log.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  type AdmissionRequest,
  compilePolicy,
  decide,
  mutate,
  type ObjectQuery,
  type PolicySet,
  policySet,
  type RuleResult,
  readNative,
  type UserInfo,
  type World,
} from '../../src/policy/index.ts';
import { labelsOf, pluralOf, selects } from '../../src/policy/internal.ts';
import { type Json, type Row, type Scenario, scenarios } from './support/native-scenarios.ts';
import {
  freeNamespaceOf,
  NativeServer,
  namespaceOf,
  nativeObjects,
  objectPath,
  type ServerAnswer,
  type Spoken,
} from './support/native-server.ts';

let server: NativeServer;
let world: World;
let userInfo: UserInfo;

beforeAll(async () => {
  server = await NativeServer.start(scenarios);
  world = await worldOf(server);
  const review = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' };
  const { status } = await server.demand('POST', '/apis/authentication.k8s.io/v1/selfsubjectreviews', review);
  userInfo = (status as { userInfo: UserInfo }).userInfo;
});

afterAll(() => server?.stop());

test('the table is long enough', () => {
  expect(scenarios.flatMap(({ rows }) => rows).length).toBeGreaterThanOrEqual(60);
});

describe.each(scenarios.map((scenario, index) => ({ ...scenario, index })))('$name', (scenario) => {
  const rows = scenario.rows.map((row) => ({ ...row, title: row.reason }));
  test.each(rows)('$title', async (row) => {
    const namespace = namespaceOf(scenario.index);
    const theirs = await server.ask(row, scenario, namespace);
    const ours = await ourAnswer(row, scenario, scenario.index);
    expect({ allowed: ours.allowed, warnings: sorted(ours.warnings), annotations: ours.annotations }).toEqual({
      allowed: theirs.allowed,
      warnings: sorted(theirs.warnings),
      annotations: theirs.annotations,
    });
    compareDenials(ours.denials, theirs, row);
    if (theirs.recorded === undefined) expect(ours.recorded).toEqual([]);
    else expect(ours.recorded).toContainEqual(theirs.recorded);
    if (theirs.object !== undefined && ours.object !== undefined) {
      expect(await asStored(ours.object, row, scenario.index)).toEqual(withoutSystemFields(theirs.object));
    }
  });
});

/** The server reports one denial, which must be one of ours. */
function compareDenials(ours: OurAnswer['denials'], { denial }: ServerAnswer, { ownWords }: Row): void {
  if (denial === undefined) return;
  if (ownWords !== true) expect(ours).toContainEqual(denial);
  else expect(ours.map(({ policy, binding }) => [policy, binding])).toContainEqual([denial.policy, denial.binding]);
}

interface OurAnswer {
  readonly allowed: boolean;
  readonly denials: readonly (Spoken & { readonly reason: string })[];
  readonly warnings: readonly Spoken[];
  readonly recorded: readonly Spoken[];
  readonly annotations: Readonly<Record<string, string>>;
  readonly object?: Json;
}

async function ourAnswer(row: Row, scenario: Scenario, index: number): Promise<OurAnswer> {
  const set = setOf(scenario, namespaceOf(index));
  const sent = await requestOf(row, index);
  const mutated = sent.object === undefined ? undefined : mutate(set, sent, world);
  const failures = (mutated?.results ?? []).filter(({ denies }) => denies);
  if (mutated !== undefined && failures.length > 0) {
    const denials = failures.map((result) => ({ ...spokenOf(result), reason: 'Invalid' }));
    return { allowed: false, denials, warnings: [], recorded: [], annotations: {} };
  }
  const request = mutated === undefined ? sent : { ...sent, object: mutated.object };
  const decision = decide(set, request, world);
  const of = (wanted: (result: RuleResult) => boolean): readonly RuleResult[] => decision.results.filter(wanted);
  return {
    allowed: decision.allowed,
    denials: of(({ denies }) => denies).map((result) => ({ ...spokenOf(result), reason: result.reason ?? 'Invalid' })),
    warnings: of((result) => result.result === 'warn' || isWarned(result, set)).map(spokenOf),
    recorded: of(({ audited }) => audited).map(spokenOf),
    annotations: decision.auditAnnotations,
    ...(mutated?.changed === true ? { object: mutated.object } : {}),
  };
}

/** An error is a warning if the binding has the action Warn. */
function isWarned({ result, denies, policy, binding, rule }: RuleResult, set: PolicySet): boolean {
  if (result !== 'error' || denies) return false;
  const model = set.policies.find(({ model: each }) => each.name === policy && each.binding === binding)?.model;
  return model?.rules.find(({ name }) => name === rule)?.actions.includes('Warn') === true;
}

const spokenOf = ({ policy, binding = '', message }: RuleResult): Spoken => ({ policy, binding, message });
const sorted = (all: readonly Spoken[]): readonly string[] => all.map((each) => JSON.stringify(each)).sort();

function setOf({ policies }: Scenario, namespace: string): PolicySet {
  const { models, issues } = readNative(policies.flatMap((policy) => nativeObjects(policy, namespace)));
  expect(issues).toEqual([]);
  return policySet({
    policies: models.map((model) => {
      const compiled = compilePolicy(model);
      if (compiled.policy === undefined) throw new Error(JSON.stringify(compiled.issues));
      return compiled.policy;
    }),
  });
}

/**
 * The request as policies see it: with the defaults that the server has filled in, which it returns if there is no
 * policy.
 */
async function requestOf(row: Row, index: number): Promise<AdmissionRequest> {
  const { operation = 'CREATE', subresource, old } = row;
  const sent = (row.object ?? old) as { apiVersion: string; kind: string; metadata: { name: string } };
  const owner = (old ?? row.object) as { apiVersion: string; kind: string };
  const namespace = namespaceOf(index);
  const object = operation === 'DELETE' ? undefined : await defaulted(row, row.object as Json, index);
  const oldObject =
    old === undefined ? undefined : await server.demand('GET', objectPath(old, freeNamespaceOf(index), subresource));
  return {
    uid: 'test',
    kind: kindOf(sent),
    resource: { ...groupVersion(owner.apiVersion), resource: pluralOf(owner.kind) },
    ...(subresource === undefined ? {} : { subResource: subresource }),
    name: sent.metadata.name,
    namespace,
    operation,
    userInfo,
    dryRun: true,
    ...(object === undefined ? {} : { object: inNamespace(object, namespace) }),
    ...(oldObject === undefined ? {} : { oldObject: inNamespace(oldObject, namespace) }),
  };
}

const kindOf = ({ apiVersion, kind }: { apiVersion: string; kind: string }) => ({ ...groupVersion(apiVersion), kind });

function groupVersion(apiVersion: string): { group: string; version: string } {
  const [group = '', version = ''] = apiVersion.includes('/') ? apiVersion.split('/') : ['', apiVersion];
  return { group, version };
}

async function defaulted({ operation = 'CREATE', subresource, old }: Row, object: Json, index: number): Promise<Json> {
  const path = objectPath(old ?? object, freeNamespaceOf(index), operation === 'CREATE' ? undefined : subresource);
  const made =
    operation === 'CREATE'
      ? await server.demand('POST', `${path.slice(0, path.lastIndexOf('/'))}?dryRun=All`, object)
      : await server.demand('PUT', `${path}?dryRun=All`, object);
  return withoutSystemFields(made);
}

/** Returns an object as the API server would store it without policies. */
async function asStored(object: Json, row: Row, index: number): Promise<Json> {
  return defaulted(row, inNamespace(object, freeNamespaceOf(index)), index);
}

function inNamespace(object: Json, namespace: string): Json {
  return { ...object, metadata: { ...(object.metadata as Json), namespace } };
}

function withoutSystemFields(object: Json): Json {
  const {
    uid: _uid,
    creationTimestamp: _creation,
    managedFields: _fields,
    resourceVersion: _version,
    generation: _generation,
    namespace: _namespace,
    ...metadata
  } = object.metadata as Json;
  // The API server sets the other fields with every write.
  const { status: _status, ...others } = object;
  return { ...others, metadata };
}

async function worldOf(from: NativeServer): Promise<World> {
  const lists = new Map([
    ['v1 ConfigMap', await from.list('/api/v1/configmaps')],
    [
      'apiextensions.k8s.io/v1 CustomResourceDefinition',
      await from.list('/apis/apiextensions.k8s.io/v1/customresourcedefinitions'),
    ],
  ]);
  const namespaces = new Map((await from.list('/api/v1/namespaces')).map((each) => [nameOf(each), each]));
  return {
    now: Date.now(),
    namespace: (name) => namespaces.get(name),
    find: ({ apiVersion, kind, namespace, name, selector }: ObjectQuery) =>
      lists.get(`${apiVersion} ${kind}`)?.filter((object) => {
        if (name !== undefined && nameOf(object) !== name) return false;
        if (namespace !== undefined && (object.metadata as Json).namespace !== namespace) return false;
        return selector === undefined || selects(selector, labelsOf(object));
      }),
  };
}

const nameOf = (object: Json): string => String((object.metadata as Json).name);
