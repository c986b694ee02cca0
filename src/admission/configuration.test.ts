import { describe, expect, it } from 'vitest';
import { buildConfiguration, heldBundle, phases, withBundle } from './configuration.ts';

const bundle = { pem: 'PEM', generation: 7 };
const built = (target: Parameters<typeof buildConfiguration>[1]['target'], failurePolicy: 'Fail' | 'Ignore' = 'Fail') =>
  phases.map((phase) =>
    buildConfiguration(phase, { target, bundle, failurePolicy, installer: { id: 'a', sharesCertificates: false } }),
  );

describe('the webhook configurations', () => {
  it('ask twice, first before the schema is looked at', () => {
    expect(built({ url: 'https://127.0.0.1:1' }).map(({ kind }) => kind)).toEqual([
      'MutatingWebhookConfiguration',
      'ValidatingWebhookConfiguration',
    ]);
  });

  it('never hold the cluster up for long, and change nothing on the side', () => {
    for (const { webhooks = [] } of built({ url: 'https://127.0.0.1:1' }, 'Ignore')) {
      expect(webhooks).toHaveLength(1);
      expect(webhooks[0]).toMatchObject({ failurePolicy: 'Ignore', matchPolicy: 'Equivalent', sideEffects: 'None' });
      expect(webhooks[0]?.timeoutSeconds).toBeLessThanOrEqual(5);
    }
  });

  it('are for kinds that have an owner, and for no other', () => {
    for (const { webhooks = [] } of built({ url: 'https://127.0.0.1:1' })) {
      const [rule] = webhooks[0]?.rules as { resources: string[]; apiGroups: string[] }[];
      expect(rule?.apiGroups).toEqual(['platform.company.com']);
      expect(rule?.resources).toEqual(
        expect.arrayContaining(['applications', 'databases', 'services', 'caches', 'topics', 'secrets']),
      );
      expect(rule?.resources).not.toEqual(expect.arrayContaining(['teams']));
      expect(rule?.resources.filter((resource) => resource.includes('*') || resource.includes('/'))).toEqual([]);
    }
  });

  const targets = [
    { reason: 'an address', target: { url: 'https://host:8443' }, config: { url: 'https://host:8443/validate' } },
    {
      reason: 'a Service',
      target: { service: { namespace: 'kidp-system', name: 'kidp', port: 8443 } },
      config: { service: { namespace: 'kidp-system', name: 'kidp', port: 8443, path: '/validate' } },
    },
  ];
  it.each(targets)('find us at $reason', ({ target, config }) => {
    expect(built(target)[1]?.webhooks?.[0]?.clientConfig).toMatchObject(config);
  });
});

describe('the bundle in a configuration', () => {
  const [configuration] = built({ url: 'https://127.0.0.1:1' });
  if (configuration === undefined) throw new Error('no configuration was built');

  it('is the one it was built with, or was given later', () => {
    expect(heldBundle(configuration)).toEqual(bundle);
    const later = { pem: 'LATER', generation: 8 };
    expect(heldBundle(withBundle(configuration, later))).toEqual(later);
  });

  const damaged = [
    { reason: 'the annotation is gone', change: { metadata: { name: 'x' } }, held: { pem: 'PEM', generation: 0 } },
    {
      reason: 'the annotation is no number',
      change: { metadata: { name: 'x', annotations: { 'platform.company.com/certificate-generation': 'x' } } },
      held: { pem: 'PEM', generation: 0 },
    },
    { reason: 'there are no webhooks', change: { webhooks: [] }, held: { pem: '', generation: 7 } },
    {
      reason: 'one webhook differs from another',
      change: { webhooks: [...(configuration.webhooks ?? []), { name: 'b', clientConfig: { caBundle: 'eA==' } }] },
      held: { pem: '', generation: 7 },
    },
  ];
  it.each(damaged)('counts for nothing that it is not: $reason', ({ change, held }) => {
    expect(heldBundle({ ...configuration, ...change })).toEqual(held);
  });
});
