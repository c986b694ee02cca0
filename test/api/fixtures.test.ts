/** What the requirements show, and what our reference shows, is taken by the real API server as it is written. */
import { Ajv } from 'ajv';
import { beforeAll, describe, expect, test } from 'vitest';
import {
  type Database,
  database,
  deployableKinds,
  kindNamed,
  kinds,
  type Policy,
  policy,
  schemaFor,
} from '../../src/api/index.ts';
import { ApiError, type Client, keyOf } from '../../src/runtime/index.ts';
import type { Cluster } from '../support/cluster.ts';
import { examples, fixture, fixtures, installKinds, type Manifest, moved, resourceOf } from './support/installed.ts';

const manifests = [...fixtures(), ...examples().map((object) => ({ file: 'the reference', object }))].map((entry) => ({
  ...entry,
  title: `${entry.object.kind} ${entry.object.metadata.name} of ${entry.file}`,
}));

let cluster: Cluster;
let client: Client;
let namespace: string;
beforeAll(async () => {
  ({ cluster, client } = await installKinds());
  namespace = await cluster.uniqueNamespace('fixtures');
  return () => client.close();
});

test('every fixture and example applies under strict validation, and again as unchanged', async () => {
  const input = manifests.map(({ object }, index) => {
    const { finalizers: _, ...metadata } = moved(object, namespace).metadata;
    return { ...object, metadata: { ...metadata, name: `${metadata.name}-${index}` } };
  });
  const apply = (objects: object[]) => cluster.kubectl(['apply', '--validate=strict', '-f', '-'], { input: objects });
  const first = await apply(input);
  expect(first).toMatchObject({ code: 0, stderr: '' });
  expect(first.stdout.match(/ created$/gm)).toHaveLength(input.length);

  // What comes back has defaults and all that the API server adds: an editor must not complain about that either.
  for (const object of input) {
    const stored = await client.get<Manifest>(resourceOf(object), keyOf(object));
    expect(complaints(stored), `${object.kind} ${object.metadata.name}`).toEqual([]);
  }

  // kubectl would send a status again and again: it cannot see that the API server leaves it aside.
  const again = input.filter((object) => object.status === undefined);
  const second = await apply(again);
  expect(second.stdout.split('\n').filter((line) => line !== '' && !line.endsWith(' unchanged'))).toEqual([]);
});

test.each(manifests)('$title is valid in an editor', ({ object }) => {
  expect(complaints(object)).toEqual([]);
});

/** What an editor would underline. */
function complaints(object: Manifest): unknown[] {
  const kind = kindNamed(object.kind);
  if (!kind) throw new Error(`${object.kind} is no kind of the platform`);
  const validate = new Ajv({ allowUnionTypes: true, formats: { 'date-time': true } }).compile(schemaFor(kind));
  return validate(object) ? [] : (validate.errors ?? []);
}

const owned = kinds.filter((kind) => kind.spec.openapi.properties?.owner).map((kind) => kind.kind);
test.each(owned)('the base structure of requirement 000 applies as a %s', async (kind) => {
  const object = moved({ ...fixture('base-structure.yaml'), kind }, namespace);
  const stored = await client.create<Manifest>(resourceOf(object), object, { fieldValidation: 'Strict', dryRun: true });
  expect(stored.spec.owner).toEqual({ kind: 'Team', name: 'backend-team' });
});

test('a finalizer of the platform is kept', async () => {
  const object = moved(fixture('finalizer.yaml'), namespace);
  const stored = await client.create(resourceOf(object), object, { dryRun: true });
  expect(stored.metadata.finalizers).toEqual(['platform.company.com/cleanup-resources']);
});

test("the requirement's Policy stays as it is written; what is filled in is said in the reference", async () => {
  const object = moved(fixture('policy.yaml'), namespace);
  const stored = await client.create(policy.resource, object as unknown as Policy, { dryRun: true });
  expect(stored.spec).toEqual({
    ...object.spec,
    selector: { ...(object.spec.selector as object), operations: ['CREATE', 'UPDATE'] },
    failurePolicy: 'Fail',
  });
});

test('a database without backup stays without, so that a policy can see it', async () => {
  const object = moved({ ...fixture('base-structure.yaml'), spec: {} }, namespace);
  const stored = await client.create(database.resource, object as unknown as Database, { dryRun: true });
  expect(stored.spec).toEqual({ engine: 'postgresql' });
});

describe.each(deployableKinds.map((kind) => ({ name: kind.kind, kind })))('the status of a $name', ({ kind }) => {
  let object: Manifest;
  beforeAll(async () => {
    const manifest = {
      apiVersion: 'platform.company.com/v1',
      kind: kind.kind,
      metadata: { name: 'reported', namespace },
      spec: {},
    };
    object = await client.create<Manifest>(kind.resource, manifest);
  });
  const patch = (status: unknown) =>
    client.patch<Manifest>(
      kind.resource,
      keyOf(object),
      { type: 'merge', body: { status } },
      { subresource: 'status' },
    );

  test('takes the conditions of the deployable pattern of requirement 001 as they are written', async () => {
    const { status } = await patch({
      phase: 'deploying',
      conditions: [
        { type: 'Deployed', status: 'True' },
        { type: 'StatusReported', status: 'False', reason: 'PendingWebhookRetry' },
      ],
    });
    expect(status).toMatchObject({
      phase: 'deploying',
      conditions: [
        { type: 'Deployed', status: 'True', reason: 'Unspecified', message: '' },
        { type: 'StatusReported', status: 'False', reason: 'PendingWebhookRetry' },
      ],
    });
  });

  test('takes all that a reconciler will write', async () => {
    const written = {
      phase: 'ready',
      observedGeneration: 1,
      owner: { kind: 'Application', name: 'user-service', namespace: 'team-backend' },
      deploymentId: `${object.metadata.uid}/1/1`,
      attempt: 1,
      dispatchedGeneration: 1,
      targetRef: { name: 'azure-westus2-prod', broker: 'azure-westus2' },
      connectionSecret: { name: 'reported-connection', revision: '1' },
      outputs: { host: 'db.company.com' },
      lastReport: {
        broker: 'azure-westus2',
        deploymentId: `${object.metadata.uid}/1/1`,
        sequence: 3,
        time: '2026-01-31T12:00:00Z',
      },
      outbox: [
        {
          id: 'a',
          action: 'Deploy',
          deploymentId: `${object.metadata.uid}/1/1`,
          createdAt: '2026-01-31T12:00:00Z',
          attempts: 2,
          lastAttemptAt: '2026-01-31T12:00:01Z',
          channel: 'HTTP',
          error: 'connection refused',
        },
      ],
      bindings: [
        { kind: 'Database', namespace: 'team-backend', name: 'users', connectionSecret: 'users-db', revision: '7' },
      ],
      costs: [{ month: '2026-01', currency: 'EUR', amount: '12.34' }],
    };
    const { status } = await patch(written);
    expect(status).toMatchObject(written);
  });

  test.each([
    { reason: 'a phase that is none', status: { phase: 'done' }, field: 'status.phase' },
    {
      reason: 'a condition that is neither true nor false nor unknown',
      status: { conditions: [{ type: 'Ready', status: 'Maybe' }] },
      field: 'status.conditions[0].status',
    },
    {
      reason: 'two conditions of one type',
      status: {
        conditions: [
          { type: 'Ready', status: 'True' },
          { type: 'Ready', status: 'False' },
        ],
      },
      field: 'status.conditions[1]',
    },
  ])('refuses $reason', async ({ status, field }) => {
    const refusal = await patch(status).catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(ApiError);
    expect((refusal as ApiError).details.causes?.map((cause) => cause.field)).toContain(field);
  });
});
