import { describe, expect, it } from 'vitest';
import { decide } from '../engine/decide.ts';
import { NOW, requestFor, setFrom } from '../engine/support/policies.ts';
import type { Json } from '../request.ts';
import { emptyWorld } from '../world.ts';

const pod = (spec: object, metadata: object = {}): Json => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'web', namespace: 'n', ...metadata },
  spec,
});

const containers = (...images: string[]) => ({
  containers: images.map((image, index) => ({ name: `c${index}`, image })),
});

function whyOf(expression: string, object: Json, more: object = {}, world = emptyWorld(NOW)) {
  const set = setFrom({ rules: [{ name: 'r', expression }], ...more });
  const [result] = decide(set, requestFor(object), world).results;
  return { why: result?.why, field: result?.field };
}

describe('why a rule is violated', () => {
  it.each<{ reason: string; expression: string; object: Json; why: string; field?: string; more?: object }>([
    {
      reason: 'the element of all that failed',
      expression: "spec.containers.all(c, c.image.startsWith('registry.example.com/'))",
      object: pod(containers('registry.example.com/a', 'docker.io/x')),
      why: 'spec.containers[1].image is "docker.io/x", want prefix "registry.example.com/"',
      field: 'spec.containers[1].image',
    },
    {
      reason: 'more than one element',
      expression: "spec.containers.all(c, c.image.endsWith(':1'))",
      object: pod(containers('a', 'b', 'c:1')),
      why: 'spec.containers[0].image is "a", want suffix ":1" (and 1 more)',
      field: 'spec.containers[0].image',
    },
    {
      reason: 'a comparison',
      expression: 'object.spec.replicas <= 5',
      object: pod({ replicas: 7 }),
      why: 'spec.replicas is 7, want at most 5',
      field: 'spec.replicas',
    },
    {
      reason: 'a comparison the other way round',
      expression: '5 >= spec.replicas',
      object: pod({ replicas: 7 }),
      why: 'spec.replicas is 7, want at most 5',
      field: 'spec.replicas',
    },
    {
      reason: 'the first false of several terms',
      expression: 'has(spec.a) && spec.a == 1 && spec.b == 2',
      object: pod({ a: 1, b: 3 }),
      why: 'spec.b is 3, want 2',
      field: 'spec.b',
    },
    {
      reason: 'a guard says nothing',
      expression: '!has(spec.a) || spec.a > 3',
      object: pod({ a: 1 }),
      why: 'spec.a is 1, want more than 3',
      field: 'spec.a',
    },
    {
      reason: 'every term of an or',
      expression: 'spec.a == 1 || spec.b == 1',
      object: pod({ a: 2, b: 3 }),
      why: 'spec.a is 2, want 1; spec.b is 3, want 1',
      field: 'spec.a',
    },
    {
      reason: 'a negation',
      expression: "!spec.containers.exists(c, c.image.endsWith(':latest'))",
      object: pod(containers('a', 'b:latest')),
      why: 'spec.containers[1].image is "b:latest", want no suffix ":latest"',
      field: 'spec.containers[1].image',
    },
    {
      reason: 'a field that is not there',
      expression: 'has(spec.securityContext) && spec.securityContext.runAsNonRoot',
      object: pod({}),
      why: 'spec.securityContext is not set',
      field: 'spec.securityContext',
    },
    {
      reason: 'a field that must not be there',
      expression: '!has(spec.hostNetwork)',
      object: pod({ hostNetwork: true }),
      why: 'spec.hostNetwork is true, want it unset',
      field: 'spec.hostNetwork',
    },
    {
      reason: 'a bare field',
      expression: 'spec.enabled',
      object: pod({ enabled: false }),
      why: 'spec.enabled is false, want true',
      field: 'spec.enabled',
    },
    {
      reason: 'an optional that is not there',
      expression: 'object.spec.?securityContext.?runAsNonRoot.orValue(false)',
      object: pod({}),
      why: 'spec.securityContext.runAsNonRoot is not set, want true',
      field: 'spec.securityContext.runAsNonRoot',
    },
    {
      reason: 'a list of what is allowed',
      expression: "spec.tier in ['gold', 'silver']",
      object: pod({ tier: 'tin' }),
      why: 'spec.tier is "tin", want one of ["gold", "silver"]',
      field: 'spec.tier',
    },
    {
      reason: 'a label that is missing',
      expression: "'app.kubernetes.io/name' in metadata.labels",
      object: pod({}, { labels: { a: 'b' } }),
      why: 'metadata.labels lacks "app.kubernetes.io/name"',
      field: 'metadata.labels',
    },
    {
      reason: 'a label with a value of another form',
      expression: "metadata.labels['app.kubernetes.io/name'].matches('^[a-z]+$')",
      object: pod({}, { labels: { 'app.kubernetes.io/name': 'A1' } }),
      why: 'metadata.labels["app.kubernetes.io/name"] is "A1", want a match for "^[a-z]+$"',
      field: 'metadata.labels["app.kubernetes.io/name"]',
    },
    {
      reason: 'quantities',
      expression: "quantity(spec.memory).compareTo(quantity('1Gi')) <= 0",
      object: pod({ memory: '2Gi' }),
      why: 'spec.memory is "2Gi", want at most "1Gi"',
      field: 'spec.memory',
    },
    {
      reason: 'a quantity by a method',
      expression: "quantity(spec.memory).isLessThan(quantity('1Gi'))",
      object: pod({ memory: '2Gi' }),
      why: 'spec.memory is "2Gi", want less than "1Gi"',
      field: 'spec.memory',
    },
    {
      reason: 'two fields against each other',
      expression: 'spec.min <= spec.max',
      object: pod({ min: 3, max: 2 }),
      why: 'spec.min is 3, want at most 2 as spec.max',
      field: 'spec.min',
    },
    {
      reason: 'a size',
      expression: 'spec.containers.size() < 2',
      object: pod(containers('a', 'b')),
      why: 'spec.containers has size 2, want less than 2',
      field: 'spec.containers',
    },
    {
      reason: 'nothing fits',
      expression: "spec.containers.exists(c, c.image == 'x')",
      object: pod(containers('a', 'b')),
      why: 'none of the 2 entries of spec.containers matches c.image == "x"',
      field: 'spec.containers',
    },
    {
      reason: 'nothing is there to fit',
      expression: "spec.containers.exists(c, c.image == 'x')",
      object: pod({ containers: [] }),
      why: 'spec.containers is empty',
      field: 'spec.containers',
    },
    {
      reason: 'loops in loops',
      expression: 'spec.containers.all(c, c.ports.all(p, p.port > 1024))',
      object: pod({ containers: [{ ports: [] }, { ports: [{ port: 8080 }, { port: 80 }] }] }),
      why: 'spec.containers[1].ports[1].port is 80, want more than 1024',
      field: 'spec.containers[1].ports[1].port',
    },
    {
      reason: 'lists that are put together',
      expression: "(spec.containers + spec.initContainers).all(c, c.image.startsWith('r/'))",
      object: pod({ ...containers('r/a'), initContainers: [{ image: 'x' }] }),
      why: 'spec.initContainers[0].image is "x", want prefix "r/"',
      field: 'spec.initContainers[0].image',
    },
    {
      reason: 'lists that are made of others',
      expression: "spec.containers.filter(c, has(c.image)).map(c, c.image).all(i, i.startsWith('r/'))",
      object: pod({ containers: [{}, { image: 'r/a' }, { image: 'x' }] }),
      why: 'spec.containers[2].image is "x", want prefix "r/"',
      field: 'spec.containers[2].image',
    },
    {
      reason: 'through variables',
      expression: 'variables.all.all(c, c.image.startsWith(variables.prefix))',
      more: {
        variables: [
          {
            name: 'all',
            expression: 'has(spec.initContainers) ? spec.initContainers + spec.containers : spec.containers',
          },
          { name: 'prefix', expression: "'r/'" },
        ],
      },
      object: pod(containers('r/a', 'x')),
      why: 'spec.containers[1].image is "x", want prefix "r/"',
      field: 'spec.containers[1].image',
    },
    {
      reason: 'into a variable that decides',
      expression: 'variables.small',
      more: { variables: [{ name: 'small', expression: 'spec.replicas < 3' }] },
      object: pod({ replicas: 3 }),
      why: 'spec.replicas is 3, want less than 3',
      field: 'spec.replicas',
    },
    {
      reason: 'the branch that was taken',
      expression: "kind == 'Pod' ? spec.a == 1 : spec.b == 1",
      object: pod({ a: 2 }),
      why: 'spec.a is 2, want 1',
      field: 'spec.a',
    },
    {
      reason: 'a map with two variables',
      expression: "metadata.labels.all(k, v, k.startsWith('x') || v != '')",
      object: pod({}, { labels: { a: '' } }),
      why: 'k is "a", want prefix "x"; metadata.labels.a is "", want anything but ""',
      field: 'metadata.labels.a',
    },
    {
      reason: 'a function with values',
      expression: 'isQuantity(spec.memory)',
      object: pod({ memory: 'much' }),
      why: 'isQuantity(spec.memory) is false where spec.memory is "much"',
      field: 'spec.memory',
    },
    {
      reason: 'how many at least, where not all are looked at',
      expression: "spec.containers.all(c, c.image.endsWith(':1'))",
      object: pod(containers(...Array.from({ length: 600 }, () => 'a'))),
      why: 'spec.containers[0].image is "a", want suffix ":1" (and at least 499 more)',
      field: 'spec.containers[0].image',
    },
    {
      reason: 'the field of the rule stands',
      expression: 'spec.a == 1',
      more: { rules: [{ name: 'r', expression: 'spec.a == 1', fieldPath: 'spec.z' }] },
      object: pod({ a: 2 }),
      why: 'spec.a is 2, want 1',
      field: 'spec.z',
    },
    {
      reason: 'a failure because something is not there',
      expression: 'spec.backup.enabled == true',
      object: pod({}),
      why: 'spec.backup is not set',
      field: 'spec.backup',
    },
  ])('names $reason', ({ expression, object, why, field, more }) => {
    expect(whyOf(expression, object, more)).toEqual({ why, field });
  });

  it('names the fields of the workload controller, not of the evaluated Pod', () => {
    const deployment: Json = {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'd', namespace: 'n' },
      spec: { template: { spec: containers('docker.io/x') } },
    };
    const more = { selector: { resourceTypes: ['core/v1/Pod'] } };
    expect(whyOf("spec.containers.all(c, c.image.startsWith('r/'))", deployment, more)).toEqual({
      why: 'spec.template.spec.containers[0].image is "docker.io/x", want prefix "r/"',
      field: 'spec.template.spec.containers[0].image',
    });
    expect(whyOf("metadata.name != 'd'", deployment, more).field).toBe('metadata.name');
  });

  it('is limited in length for any values', () => {
    const { why } = whyOf(
      "spec.a == 'x' || spec.b == 'x' || spec.c == 'x'",
      pod({ a: 'y'.repeat(9999), b: 'y'.repeat(9999), c: 'z' }),
    );
    expect(why?.length).toBeLessThanOrEqual(300);
  });
});

describe('sensitive values', () => {
  const secret: Json = {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: {
      name: 's',
      namespace: 'n',
      annotations: { 'kubectl.kubernetes.io/last-applied-configuration': 'hunter2' },
    },
    data: { password: 'hunter2' },
    stringData: { list: 'hunter2' },
  };
  it.each<{ reason: string; expression: string; more?: object }>([
    { reason: 'read as it is', expression: "object.data.password == 'x'" },
    { reason: 'by an index', expression: "object['data']['password'].startsWith('x')" },
    {
      reason: 'through a variable',
      expression: "variables.p == 'x'",
      more: { variables: [{ name: 'p', expression: 'object.data.password' }] },
    },
    { reason: 'in a loop over its entries', expression: "object.data.all(k, v, v == 'x')" },
    { reason: 'in a loop over what is made of it', expression: "object.data.map(k, object.data[k]).all(v, v == 'x')" },
    { reason: 'in a text that is put together', expression: "('a' + object.data.password) == 'x'" },
    { reason: 'in a whole that holds it', expression: 'object == oldObject' },
    { reason: 'in the annotation of kubectl', expression: "metadata.annotations.all(k, v, v == 'x')" },
    {
      reason: 'by a computed key',
      expression: "object.data[variables.k] == 'x'",
      more: { variables: [{ name: 'k', expression: "'password'" }] },
    },
    { reason: 'in an error', expression: 'int(object.data.password) == 1' },
    { reason: 'in an optional', expression: "object.?data.?password.orValue('') == 'x'" },
    {
      reason: 'in a message',
      expression: 'false',
      more: { rules: [{ name: 'r', expression: 'false', messageExpression: "'it is ' + object.data.password" }] },
    },
    {
      reason: 'in an annotation',
      expression: 'false',
      more: {
        rules: [
          {
            name: 'r',
            expression: 'false',
            auditAnnotations: [{ key: 'k', valueExpression: 'string(object.data.password)' }],
          },
        ],
      },
    },
    { reason: 'in a test of a part', expression: "object.data.exists(k, object.data[k].contains('zzz'))" },
    { reason: 'in a list', expression: "'x' in object.data.map(k, object.data[k])" },
    {
      reason: 'in a condition that is no condition',
      expression: 'true',
      more: { matchConditions: [{ name: 'c', expression: 'object.data.password' }] },
    },
  ])('$reason', ({ expression, more }) => {
    const set = setFrom({ rules: [{ name: 'r', expression }], ...more });
    const decision = decide(set, requestFor(secret), emptyWorld(NOW));
    expect(decision.results).toHaveLength(1);
    expect(JSON.stringify(decision)).not.toContain('hunter2');
  });

  it('hides the paths that a policy marks, and shows the rest', () => {
    const object = pod({ token: 'hunter2', list: [{ key: 'hunter2', name: 'n' }] });
    const sensitivePaths = ['spec.token', 'spec.list[*].key'];
    expect(whyOf("spec.token == 'x'", object, { sensitivePaths }).why).toBe('spec.token is (hidden), want "x"');
    expect(whyOf("spec.list.all(e, e.key == 'x')", object, { sensitivePaths }).why).toBe(
      'spec.list[0].key is (hidden), want "x"',
    );
    expect(whyOf("spec.list.all(e, e.name == 'x')", object, { sensitivePaths }).why).toBe(
      'spec.list[0].name is "n", want "x"',
    );
  });

  it('hides Secrets among params and context', () => {
    const found = [{ apiVersion: 'v1', kind: 'Secret', metadata: { name: 's' }, data: { a: 'hunter2' } }];
    const world = { ...emptyWorld(NOW), find: () => found };
    const params = { params: { apiVersion: 'v1', kind: 'Secret', name: 's', namespace: 'n' } };
    expect(whyOf("params.data.a == 'x'", pod({}), params, world).why).toBe('params.data.a is (hidden), want "x"');
    const context = { context: [{ name: 'them', apiVersion: 'v1', kind: 'Secret' }] };
    expect(whyOf("them.all(s, s.data.a == 'x')", pod({}), context, world).why).toBe(
      'them[0].data.a is (hidden), want "x"',
    );
  });
});
