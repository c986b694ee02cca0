/** Definitions that change, as users meet the gate: on a real API server, with objects in etcd. */
import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { isNotFound } from '../../src/runtime/index.ts';
import { eventually } from '../../src/runtime/testing/index.ts';
import { definitions } from '../admission/support/platform.ts';
import { sharedCluster } from '../support/cluster.ts';
import {
  change,
  type Definition,
  deep,
  define,
  digestIn,
  type GatePlane,
  objectOf,
  patient,
  refusalOf,
  resourceOf,
  size,
  startGatePlane,
  version,
  widgets,
} from './support/platform.ts';

let plane: GatePlane;
beforeAll(async () => {
  const resources = [{ group: 'apiextensions.k8s.io', resources: ['customresourcedefinitions'] }];
  const rules = [{ level: 'Metadata', verbs: ['patch'], resources }, { level: 'None' }];
  plane = await startGatePlane({ audit: { omitStages: ['RequestReceived'], rules } });
  await plane.gate();
});
afterAll(() => plane?.stop());

describe('a breaking change', () => {
  test('is denied with each change, an example, and how many objects would break', async () => {
    const before = widgets('denied', size({}));
    await define(plane.client, before);
    for (const [index, value] of [1, 50, 100].entries())
      await plane.client.create(resourceOf(before), objectOf(before, `one-${index}`, { size: value }));
    const said = await refusalOf(() => change(plane.client, widgets('denied', size({ maximum: 10 }))));
    expect(said).toContain('crd compatibility: denied.gate.example.com: 1 breaking change;');
    expect(said).toContain('2 of 3 stored objects would break, first: default/one-1');
    expect(said).toMatch(/v1 \.spec\.size \(\S+\):/);
    expect(said).toContain('for example');
    expect(said).toMatch(
      /Approval with spec\.subject \{kind: CustomResourceDefinition, name: denied\.gate\.example\.com, uid: \S+ digest: "sha256:[0-9a-f]{64}"\}/,
    );
    const stored = await plane.client.get(definitions, { name: 'denied.gate.example.com' });
    expect(JSON.stringify(stored.spec)).not.toContain('maximum');
  });

  test.each([
    { way: 'kubectl apply', words: ['apply', '-f', '-'] },
    {
      way: 'kubectl apply --server-side, as Flux and Helm 4 do',
      words: ['apply', '--server-side', '--force-conflicts', '-f', '-'],
    },
    { way: 'kubectl replace', words: ['replace', '-f', '-'] },
    { way: 'a trial run', words: ['apply', '--dry-run=server', '-f', '-'] },
  ])('is denied the same way through $way', async ({ words }) => {
    const before = widgets('ways', size({}));
    await define(plane.client, before);
    const { code, stderr } = await plane.kubectl(words, widgets('ways', size({ maximum: 10 })));
    expect(code).not.toBe(0);
    expect(stderr).toContain(
      'admission webhook "validate-crds.kidp.platform.company.com" denied the request: crd compatibility',
    );
    expect(digestIn(stderr)).not.toBe('');
  });

  test('is denied where nothing is stored too: manifests would not apply any more', async () => {
    const before = widgets('unstored', size({}));
    await define(plane.client, before);
    const said = await refusalOf(() => change(plane.client, widgets('unstored', size({ maximum: 10 }))));
    expect(said).toContain('there are no stored objects');
  });
});

describe('a version that nothing converts to', () => {
  const spec = (...names: string[]) => ({
    type: 'object',
    properties: Object.fromEntries(names.map((name) => [name, { type: 'string' }])),
  });
  const kept = { ...spec('size'), 'x-kubernetes-preserve-unknown-fields': true };
  const of = (plural: string, ...versions: Definition['spec']['versions']): Definition =>
    widgets(plural, {}, { versions });

  test('is denied if kubectl would lose fields through it, at each step of the way', async () => {
    const v1 = (over: object = {}) => version('v1', kept, over);
    const v2 = (over: object) => version('v2', spec('size'), { storage: false, ...over });
    await define(plane.client, of('steps', version('v1', { ...kept, properties: spec('size', 'colour').properties })));
    const before = of('steps', v1());
    await plane.client.create(resourceOf(before), objectOf(before, 'one', { size: 's', colour: 'red' }));
    // The field is no longer named, and kept; the version is there, and not served: nothing is lost yet.
    await define(plane.client, before);
    const preferred = await refusalOf(() => change(plane.client, of('steps', v1(), v2({}))));
    expect(preferred).toContain('1 of 1 stored object would break, first: default/one: .spec.colour');
    expect(preferred).toContain('The preferred version changed from v1 to v2');
    expect(preferred).toMatch(/is lost if a client reads the object through v2, which does not name it/);
    await define(plane.client, of('steps', v1(), v2({ served: false })));
    const served = await refusalOf(() => change(plane.client, of('steps', v1(), v2({}))));
    expect(served).toContain('The preferred version changed from v1 to v2');
    const moved = of('steps', v1({ storage: false }), v2({ served: false, storage: true }));
    expect(await refusalOf(() => change(plane.client, moved))).toContain('Objects are stored as v2 now');
    const { stdout } = await plane.kubectl(['get', 'steps.gate.example.com', 'one', '-o', 'yaml']);
    expect(stdout).toContain('colour: red');
  });

  test('is denied if the storage version prunes what it adds, and warned of if only clients of the other do', async () => {
    await define(plane.client, of('more', version('v1', spec('size'))));
    const v2 = version('v2', spec('size', 'colour'), { storage: false });
    const unstored = await refusalOf(() => change(plane.client, of('more', version('v1', spec('size')), v2)));
    expect(unstored).toContain('.spec.colour is pruned on every write: the storage version v1 does not name it');
    const { code, stderr } = await plane.kubectl(
      ['apply', '--server-side', '--force-conflicts', '-f', '-'],
      of('more', version('v1', spec('size'), { storage: false }), { ...v2, storage: true }),
    );
    expect({ code, stderr }).toMatchObject({ code: 0, stderr: expect.stringContaining('field-not-round-tripped') });
  });
});

test('what was found is in the audit log of the API server', async () => {
  const before = widgets('audited', size({}));
  await define(plane.client, before);
  const said = await refusalOf(() => change(plane.client, widgets('audited', size({ maximum: 10 }))));
  const webhook = 'validate-crds.kidp.platform.company.com';
  const annotations = await eventually(async () => {
    const lines = (await readFile(plane.plane.auditLog ?? '', 'utf8')).trim().split('\n');
    const entries = lines.map((line) => JSON.parse(line) as { annotations?: Record<string, string> });
    const found = entries.find((entry) => entry.annotations?.[`${webhook}/crd-digest`] === digestIn(said));
    return found?.annotations ?? false;
  }, patient);
  expect(annotations).toMatchObject({
    [`${webhook}/crd-verdict`]: 'breaking',
    [`${webhook}/crd-changes`]: expect.stringContaining('v1 .spec.size'),
    [`${webhook}/crd-stored-objects`]: '0 of 0 would break',
    [`${webhook}/crd-latency-milliseconds`]: expect.stringMatching(/^\d+$/),
  });
});

describe('by configuration, a breaking change', () => {
  beforeAll(async () => void (await plane.gate({ allowUnused: true })));
  afterAll(async () => void (await plane.gate()));

  test('is admitted if nothing uses what it breaks', async () => {
    const before = widgets('unused', size({}));
    await define(plane.client, before);
    const { code, stderr } = await plane.kubectl(
      ['apply', '--server-side', '--force-conflicts', '-f', '-'],
      widgets('unused', size({ maximum: 10 })),
    );
    expect({ code, stderr }).toMatchObject({ code: 0, stderr: expect.stringContaining('nothing uses what it breaks') });
    await plane.client.create(resourceOf(before), objectOf(before, 'small', { size: 1 }));
    const used = await refusalOf(() => change(plane.client, widgets('unused', size({ maximum: 5 }))));
    expect(used).toContain('none of 1 stored object would break');
  });

  test('of a version that is not served is admitted, with or without objects', async () => {
    const versions = (bounds: object) => [
      version('v1', size({})),
      version('v1alpha1', size(bounds), { served: false, storage: false }),
    ];
    const before = widgets('unserved', {}, { versions: versions({}) });
    await define(plane.client, before);
    await plane.client.create(resourceOf(before), objectOf(before, 'small', { size: 1 }));
    expect(
      await refusalOf(() => change(plane.client, widgets('unserved', {}, { versions: versions({ maximum: 10 }) }))),
    ).toBe('');
  });
});

describe('admitted changes', () => {
  test('a wider schema, a new version, labels and annotations: without a word', async () => {
    const before = widgets('wider', size({ maximum: 10 }));
    await define(plane.client, before);
    const wider = widgets('wider', size({ maximum: 20 }), {
      versions: [version('v1', size({ maximum: 20 })), version('v2', size({ maximum: 20 }), { storage: false })],
    });
    const { code, stderr } = await plane.kubectl(['apply', '--server-side', '--force-conflicts', '-f', '-'], wider);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const labelled = await plane.kubectl(['label', 'crd', before.metadata.name, 'mine=yes']);
    expect(labelled).toMatchObject({ code: 0, stderr: '' });
  });

  describe('while a conversion webhook that nobody answers for keeps the objects from being read', () => {
    const conversion = (caBundle: string, name = 'convert') => ({
      strategy: 'Webhook',
      webhook: {
        conversionReviewVersions: ['v1'],
        clientConfig: { service: { namespace: 'default', name }, ...(caBundle === '' ? {} : { caBundle }) },
      },
    });
    const versions = (bounds: object, isMoved = true) => [
      version('v1', size(bounds), { storage: isMoved }),
      version('v1beta1', size(bounds), { storage: !isMoved }),
    ];
    const names = { plural: 'converted', kind: 'Converted', singular: 'converted', listKind: 'ConvertedList' };
    const converted = (over: Partial<Definition['spec']>) =>
      widgets('converted', {}, { names: { ...names, shortNames: ['cvt'] }, ...over });
    const stuck = converted({ versions: versions({}), conversion: conversion('') });

    beforeAll(async () => {
      const before = converted({ versions: versions({}, false) });
      await define(plane.client, before);
      const stored = { ...objectOf(before, 'old', { size: 1 }), apiVersion: 'gate.example.com/v1beta1' };
      await plane.client.create({ ...resourceOf(before), version: 'v1beta1' }, stored);
      await change(plane.client, stuck);
      await eventually(async () => (await refusalOf(() => plane.client.list(resourceOf(stuck)))) !== '', patient);
    });

    test.each([
      {
        reason: 'its caBundle, as cert-manager injects it: without a word',
        over: () => ({
          conversion: conversion(Buffer.from(sharedCluster().controlPlane.authority).toString('base64')),
        }),
        says: '',
      },
      {
        reason: 'where it is asked',
        over: () => ({ conversion: conversion('', 'other') }),
        says: 'The client configuration of the conversion webhook changed',
      },
      { reason: 'a short name that goes', over: () => ({ names }), says: 'The short name cvt was removed' },
    ])('$reason', async ({ over, says }) => {
      const after = converted({ versions: versions({}), conversion: conversion(''), ...over() });
      const { code, stderr } = await plane.kubectl(
        ['apply', '--server-side', '--field-manager', 'test', '--dry-run=server', '-f', '-'],
        after,
      );
      expect({ code, stderr }).toMatchObject({ code: 0, stderr: says === '' ? '' : expect.stringContaining(says) });
    });

    test('but no result that depends on the objects', async () => {
      const rule = { 'x-kubernetes-validations': [{ rule: "self.lowerAscii().split('-').size() < 5" }] };
      const spec = { type: 'object', properties: { size: { type: 'integer' }, colour: { type: 'string', ...rule } } };
      const after = converted({
        versions: [version('v1', spec), version('v1beta1', size({}), { storage: false })],
        conversion: conversion(''),
      });
      const said = await refusalOf(() => change(plane.client, after, { dryRun: true }));
      expect(said).toContain(
        'the change is risky, and its effect on stored objects is unknown: stored objects could not be checked: GET',
      );
    });
  });

  test('a risky change, with a warning and what it means for the objects', async () => {
    const rule = {
      'x-kubernetes-validations': [{ rule: "!has(self.colour) || self.colour.replace('a', 'b') != 'bb'" }],
    };
    const before = widgets('risky', size({}));
    await define(plane.client, before);
    await plane.client.create(resourceOf(before), objectOf(before, 'fine', { colour: 'red' }));
    const after = widgets('risky', { ...size({}), ...rule });
    const dry = await plane.kubectl(
      ['apply', '--server-side', '--force-conflicts', '--dry-run=server', '-f', '-'],
      after,
    );
    // The change is breaking or risky, but never admitted without a warning.
    expect(dry.stderr).toContain('crd compatibility');
    expect(dry.stderr).toContain('none of 1 stored object would break');
  });
});

test('a risky change is judged by the numbers that are stored, past 2^53 too', async () => {
  const before = widgets('exact', size({}));
  await define(plane.client, before);
  const [first, second] = ['9007199254740993', '9007199254740992'].map((each) =>
    JSON.stringify(objectOf(before, `size-${each}`, { size: 0 })).replace('"size":0', `"size":${each}`),
  );
  expect(await plane.kubectl(['apply', '-f', '-'], `${first}\n---\n${second}`)).toMatchObject({ code: 0 });
  const rule = { 'x-kubernetes-validations': [{ rule: '!has(self.size) || self.size % 1000 != 993' }] };
  const said = await refusalOf(() => change(plane.client, widgets('exact', { ...size({}), ...rule })));
  expect(said).toContain('1 of 2 stored objects would break, first: default/size-9007199254740993');
});

describe('what only the API server judges', () => {
  test.each([
    { reason: 'a type that is none', field: { type: 'whole number' }, says: 'Unsupported value: "whole number"' },
    { reason: 'a default of another type', field: { type: 'string', default: 5 }, says: 'must be of type string' },
    { reason: 'a pattern that is none', field: { type: 'string', pattern: '[' }, says: 'must be a valid regular' },
    {
      reason: 'a rule that does not compile',
      field: { type: 'string', 'x-kubernetes-validations': [{ rule: 'self.nope > 1' }] },
      says: 'compilation failed',
    },
  ])('a definition that it finds invalid gets its own answer, before the gate is asked: $reason', async ({
    field,
    says,
  }) => {
    const spec = (size: object) => ({ type: 'object', properties: { size } });
    await change(plane.client, widgets('invalid', spec({ type: 'string' })));
    const said = await refusalOf(() => change(plane.client, widgets('invalid', spec(field))));
    expect(said).toContain(says);
    expect(said).not.toContain('crd compatibility');
  });

  test('a status is written as ever, and a definition becomes established', async () => {
    const definition = widgets('established', size({}));
    await define(plane.client, definition);
    const name = definition.metadata.name;
    const stored = await plane.client.get(definitions, { name });
    const status = { ...(stored.status as object), storedVersions: ['v1'] };
    const said = await refusalOf(() =>
      plane.client.patch(definitions, { name }, { type: 'merge', body: { status } }, { subresource: 'status' }),
    );
    expect(said).toBe('');
  });
});

describe('a definition that is deeper than anybody can compare', () => {
  test('is denied when it comes, and says where', async () => {
    const said = await refusalOf(() => change(plane.client, widgets('deep', deep(400))));
    expect(said).toMatch(/crd compatibility: .*nested more than \d+ levels/);
  });
});

describe('a deletion', () => {
  test('of a definition without objects is let through', async () => {
    const definition = widgets('empty', size({}));
    await define(plane.client, definition);
    expect(await plane.kubectl(['delete', 'crd', definition.metadata.name])).toMatchObject({ code: 0, stderr: '' });
  });

  test('with objects is denied, also of many at once, until an annotation confirms it', async () => {
    const definition = widgets('full', size({}));
    definition.metadata.labels = { many: 'yes' };
    const stored = await define(plane.client, definition);
    const { name } = definition.metadata;
    for (const each of ['a', 'b'])
      await plane.client.create(resourceOf(definition), objectOf(definition, each, { size: 1 }));
    const { code, stderr } = await plane.kubectl(['delete', 'crd', name]);
    expect(code).not.toBe(0);
    expect(stderr).toContain('2 objects exist, first: default/a');
    expect(stderr).toContain(`kubectl annotate crd ${name} platform.company.com/confirm-delete=${stored.metadata.uid}`);
    const many = await plane.client.request({
      method: 'DELETE',
      path: '/apis/apiextensions.k8s.io/v1/customresourcedefinitions',
      query: { labelSelector: 'many=yes' },
    });
    expect(many.status).toBe(403);
    const forced = await plane.kubectl(['replace', '--force', '-f', '-'], widgets('full', size({ maximum: 1 })));
    expect(forced.stderr).toContain('2 objects exist');
    expect((await plane.client.list(resourceOf(definition))).items).toHaveLength(2);
    expect((await plane.kubectl(['annotate', 'crd', name, 'platform.company.com/confirm-delete=yes'])).code).toBe(0);
    expect((await plane.kubectl(['delete', 'crd', name])).code).not.toBe(0);
    const confirm = `platform.company.com/confirm-delete=${stored.metadata.uid}`;
    expect((await plane.kubectl(['annotate', '--overwrite', 'crd', name, confirm])).code).toBe(0);
    const gone = await plane.kubectl(['delete', 'crd', name]);
    expect(gone).toMatchObject({ code: 0, stderr: expect.stringContaining('2 objects are deleted with it') });
    expect(isNotFound(await plane.client.get(definitions, { name }).catch((error: unknown) => error))).toBe(true);
  });
});
