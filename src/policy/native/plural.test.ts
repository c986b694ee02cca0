import { expect, it } from 'vitest';
import { pluralOf } from './plural.ts';

it.each([
  ['Pod', 'pods'],
  ['Endpoints', 'endpoints'],
  ['NetworkPolicy', 'networkpolicies'],
  ['Ingress', 'ingresses'],
  ['IngressClass', 'ingressclasses'],
  ['Gateway', 'gateways'],
  ['PodMetrics', 'pods'],
  ['EndpointSlice', 'endpointslices'],
  ['ServiceAccount', 'serviceaccounts'],
])('%s is %s', (kind, plural) => {
  expect(pluralOf(kind)).toBe(plural);
});
