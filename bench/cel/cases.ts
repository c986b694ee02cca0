/** The nine expressions of the comparison, and the same by hand in JavaScript. */

export interface Case {
  readonly name: string;
  readonly expression: string;
  /** The same decision without an expression language: what speed is possible at all. */
  byHand(object: Deployment): boolean;
}

export interface Deployment {
  readonly metadata: {
    readonly name: string;
    readonly namespace: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly spec: {
    readonly replicas: number;
    readonly missing?: { readonly field: string };
    readonly strategy?: { readonly type?: string };
    readonly containers: readonly {
      readonly name: string;
      readonly image: string;
      readonly ports: readonly { readonly containerPort: number }[];
      readonly resources: { readonly limits: Readonly<Record<string, string>> };
    }[];
  };
}

export const subject: Deployment = {
  metadata: {
    name: 'shop',
    namespace: 'default',
    labels: { app: 'shop', team: 'payments', tier: 'gold', env: 'prod' },
    annotations: { owner: 'alice', 'kidp.dev/reason': 'TICKET-42' },
  },
  spec: {
    replicas: 3,
    strategy: { type: 'RollingUpdate' },
    containers: ['web', 'proxy', 'logs', 'cache', 'agent'].map((name, index) => ({
      name,
      image: `registry.example.com/team/${name}:1.${index}.0`,
      ports: [{ containerPort: 8080 + index }, { containerPort: 9090 + index }],
      resources: { limits: { cpu: '500m', memory: '1536Mi' } },
    })),
  },
};

const teamName = /^[a-z][a-z0-9-]*$/;

export const cases: readonly Case[] = [
  {
    name: 'a field compared',
    expression: 'object.spec.replicas <= 5',
    byHand: (object) => object.spec.replicas <= 5,
  },
  {
    name: 'all images of a registry',
    expression: "object.spec.containers.all(c, c.image.startsWith('registry.example.com/'))",
    byHand: (object) => object.spec.containers.every((c) => c.image.startsWith('registry.example.com/')),
  },
  {
    name: 'has, in and matches',
    expression:
      "has(object.metadata.labels) && 'team' in object.metadata.labels && object.metadata.labels['team'].matches('^[a-z][a-z0-9-]*$')",
    byHand: ({ metadata: { labels } }) =>
      labels !== undefined && Object.hasOwn(labels, 'team') && teamName.test(labels.team ?? ''),
  },
  {
    name: 'filter, map and size',
    expression: 'object.spec.containers.filter(c, c.ports.size() > 1).map(c, c.name).size() == 5',
    byHand: (object) => object.spec.containers.filter((c) => c.ports.length > 1).map((c) => c.name).length === 5,
  },
  {
    name: 'a loop in a loop',
    expression: 'object.spec.containers.all(c, c.ports.all(p, p.containerPort > 1024 && p.containerPort < 65536))',
    byHand: (object) =>
      object.spec.containers.every((c) => c.ports.every((p) => p.containerPort > 1024 && p.containerPort < 65536)),
  },
  {
    name: 'an error absorbed',
    expression: "object.spec.missing.field == 'x' || object.spec.replicas == 3",
    byHand: (object) => object.spec.missing?.field === 'x' || object.spec.replicas === 3,
  },
  {
    name: 'chains of optionals',
    expression:
      "object.?metadata.?annotations[?'owner'].orValue('none') != 'nobody' && object.?spec.?strategy.?kind.orValue('Rolling') == 'Rolling'",
    byHand: (object) =>
      (object.metadata?.annotations?.owner ?? 'none') !== 'nobody' &&
      ((object.spec?.strategy as Record<string, string> | undefined)?.kind ?? 'Rolling') === 'Rolling',
  },
  {
    name: 'a string built',
    expression:
      "object.metadata.namespace + '/' + object.metadata.name + ':' + string(object.spec.replicas) == 'default/shop:3'",
    byHand: ({ metadata, spec }) => `${metadata.namespace}/${metadata.name}:${spec.replicas}` === 'default/shop:3',
  },
  {
    name: 'quantities compared',
    expression: "quantity(object.spec.containers[0].resources.limits.memory).isLessThan(quantity('2Gi'))",
    byHand: (object) => bytes(object.spec.containers[0]?.resources.limits.memory ?? '') < 2 * 2 ** 30,
  },
];

const units: Readonly<Record<string, number>> = {
  '': 1,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
};

/** What one writes by hand for the quantities one expects. */
function bytes(quantity: string): number {
  const parts = /^([0-9.]+)([a-zA-Z]*)$/.exec(quantity);
  const unit = units[parts?.[2] ?? ''];
  if (parts === null || unit === undefined) throw new RangeError(`not a quantity: ${quantity}`);
  return Number(parts[1]) * unit;
}
