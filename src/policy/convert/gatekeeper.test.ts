import { describe, expect, it } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { compilePolicy, decide, policySet } from '../engine/index.ts';
import { readPolicy } from '../load/index.ts';
import type { Json } from '../request.ts';
import { emptyWorld } from '../world.ts';
import { convertPolicies } from './convert.ts';

const documents = (text: string): readonly Json[] => parseAllDocuments(text).map((each) => each.toJS() as Json);
const convert = (objects: readonly Json[], to: 'policy' | 'gatekeeper' | 'native') =>
  convertPolicies(objects, { to, now: 0 });

const TEMPLATE = `
apiVersion: templates.gatekeeper.sh/v1
kind: ConstraintTemplate
metadata: {name: allowedregistries}
spec:
  crd: {spec: {names: {kind: AllowedRegistries}}}
  targets:
  - target: admission.k8s.gatekeeper.sh
    code:
    - engine: K8sNativeValidation
      source:
        failurePolicy: Fail
        variables:
        - {name: images, expression: "variables.anyObject.spec.containers.map(c, c.image)"}
        validations:
        - expression: variables.images.all(i, variables.params.registries.exists(r, i.startsWith(r)))
          messageExpression: '"at most " + string(variables.params.max) + " registries"'
`;
const CONSTRAINT = `
apiVersion: constraints.gatekeeper.sh/v1beta1
kind: AllowedRegistries
metadata: {name: only-ours}
spec:
  enforcementAction: warn
  match:
    kinds: [{apiGroups: [""], kinds: [Pod]}]
    namespaces: [team-*]
    excludedNamespaces: [team-x]
    labelSelector: {matchLabels: {app: web}}
  parameters: {registries: [registry.example.com/], max: 1}
`;

function said(objects: readonly Json[], namespace: string, image: string): readonly string[] {
  const policies = objects.flatMap((object) => {
    const { model } = readPolicy(object);
    return model === undefined ? [] : (compilePolicy(model).policy ?? []);
  });
  expect(policies).toHaveLength(objects.length);
  const object = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'p', namespace, labels: { app: 'web' } },
    spec: { containers: [{ name: 'a', image }] },
  };
  const kind = { group: '', version: 'v1', kind: 'Pod' };
  const request = { uid: 'u', kind, operation: 'CREATE' as const, name: 'p', namespace, object };
  return decide(policySet({ policies }), request, emptyWorld(0)).results.map(
    ({ result, message }) => `${result}: ${message}`,
  );
}

describe('templates of Gatekeeper', () => {
  it('become policies, with the parameters of their constraints', () => {
    const { objects, notes } = convert(documents(`${TEMPLATE}---${CONSTRAINT}`), 'policy');
    expect(notes).toEqual([]);
    expect(objects).toMatchObject([{ kind: 'Policy', metadata: { name: 'only-ours' } }]);
    expect(said(objects, 'team-a', 'docker.io/x')).toEqual(['warn: at most 1 registries']);
    expect(said(objects, 'team-a', 'registry.example.com/x')).toEqual([]);
    expect(said(objects, 'team-x', 'docker.io/x')).toEqual([]);
    expect(said(objects, 'other', 'docker.io/x')).toEqual([]);
  });

  it('in Rego are rejected by name', () => {
    const rego = (parse(TEMPLATE) as { spec: { targets: Json[] } }).spec;
    const template = { ...parse(TEMPLATE), spec: { ...rego, targets: [{ target: 't', rego: 'package x' }] } } as Json;
    const { objects, notes } = convert([template], 'policy');
    expect(objects).toEqual([]);
    expect(notes).toMatchObject([{ severity: 'error', source: 'ConstraintTemplate/allowedregistries' }]);
    expect(notes[0]?.message).toContain('Rego');
  });

  it.each([
    { text: TEMPLATE, severity: 'warning', reason: 'a template without a constraint enforces nothing' },
    { text: CONSTRAINT, severity: 'error', reason: 'a constraint without its template' },
  ])('$reason', ({ text, severity }) => {
    const { objects, notes } = convert(documents(text), 'policy');
    expect(objects).toEqual([]);
    expect(notes).toMatchObject([{ severity }]);
  });

  it.each([
    { match: 'scope: Namespaced', hit: true, reason: 'in a namespace' },
    { match: 'scope: Cluster', hit: false, reason: 'of the cluster' },
    { match: 'name: "p*"', hit: true, reason: 'by name' },
    { match: 'name: q', hit: false, reason: 'by another name' },
    { match: 'kinds: [{apiGroups: ["*"], kinds: [Pod]}]', hit: true, reason: 'a kind of any group' },
  ])('match $reason', ({ match, hit }) => {
    const constraint = CONSTRAINT.replace(/ {2}match:[\s\S]*?\n {2}parameters/, `  match: {${match}}\n  parameters`);
    const { objects } = convert(documents(`${TEMPLATE}---${constraint}`), 'policy');
    expect(said(objects, 'team-a', 'docker.io/x').length > 0).toBe(hit);
  });

  it('note fields of constraints without an equivalent', () => {
    const constraint = CONSTRAINT.replace('enforcementAction: warn', 'enforcementAction: scoped').replace(
      'namespaces: [team-*]',
      'source: Generated',
    );
    const { notes } = convert(documents(`${TEMPLATE}---${constraint}`), 'policy');
    expect(notes.map(({ path }) => path)).toEqual(['spec.enforcementAction', 'spec.match.source']);
  });

  it('also convert to native policies', () => {
    const { objects } = convert(documents(`${TEMPLATE}---${CONSTRAINT}`), 'native');
    expect(objects.map(({ kind }) => kind)).toEqual(['ValidatingAdmissionPolicy', 'ValidatingAdmissionPolicyBinding']);
  });
});

describe('Policies as templates', () => {
  const policy = {
    apiVersion: 'platform.company.com/v1',
    kind: 'Policy',
    metadata: { name: 'our-images' },
    spec: {
      description: 'why',
      selector: {
        resourceTypes: ['core/v1/Pod'],
        matchLabels: { app: 'web' },
        namespaces: ['team-*'],
        names: ['a*', 'p'],
      },
      podControllers: { kinds: [] },
      rules: [
        {
          name: 'a',
          expression: "spec.containers.all(c, c.image.startsWith('registry.example.com/'))",
          message: 'images',
        },
        { name: 'b', expression: "metadata.name != 'p'", message: 'p', enforcement: 'Warn' },
      ],
    },
  } as const;

  it('has one template per enforcement, and converts back', () => {
    const { objects, notes } = convert([policy], 'gatekeeper');
    expect(objects.map(({ kind }) => kind)).toEqual([
      'ConstraintTemplate',
      'OurImagesDeny',
      'ConstraintTemplate',
      'OurImagesWarn',
    ]);
    expect(objects[1]).toMatchObject({
      apiVersion: 'constraints.gatekeeper.sh/v1beta1',
      spec: {
        enforcementAction: 'deny',
        match: {
          kinds: [{ apiGroups: [''], kinds: ['Pod'] }],
          namespaces: ['team-*'],
          excludedNamespaces: ['kube-system', 'kidp-system'],
          labelSelector: { matchLabels: { app: 'web' } },
        },
      },
    });
    expect(notes.map(({ path }) => path)).toContain('spec.selector.resourceTypes');
    const back = convert(objects, 'policy');
    expect(back.notes).toEqual([]);
    for (const [namespace, image] of [
      ['team-a', 'docker.io/x'],
      ['team-a', 'registry.example.com/x'],
      ['other', 'docker.io/x'],
    ] as const) {
      expect([...said(back.objects, namespace, image)].sort()).toEqual([...said([policy], namespace, image)].sort());
    }
  });

  it('notes fields without an equivalent in templates', () => {
    const spec = {
      ...policy.spec,
      params: { apiVersion: 'v1', kind: 'ConfigMap', name: 'x' },
      variables: [{ name: 'params', expression: '1' }],
      rules: [
        { ...policy.spec.rules[0], reason: 'Forbidden', auditAnnotations: [{ key: 'k', valueExpression: "'v'" }] },
      ],
      mutations: [{ patchType: 'JSONPatch', jsonPatch: { expression: '[]' } }],
    };
    const paths = convert([{ ...policy, spec }], 'gatekeeper').notes.map(({ path }) => path);
    expect(paths).toEqual(
      expect.arrayContaining([
        'spec.mutations',
        'spec.params',
        'spec.variables[0].expression',
        'spec.rules[0].reason',
        'spec.rules[0].auditAnnotations',
      ]),
    );
  });
});
