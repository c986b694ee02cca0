import { describe, expect, it } from 'vitest';
import { resourcePath } from './paths.ts';

const pods = { group: '', version: 'v1', plural: 'pods', kind: 'Pod', namespaced: true };
const roles = {
  group: 'rbac.authorization.k8s.io',
  version: 'v1',
  plural: 'clusterroles',
  kind: 'ClusterRole',
  namespaced: false,
};

describe('the path of a request', () => {
  const rows = [
    {
      reason: 'an object of the core group',
      resource: pods,
      at: { namespace: 'a', name: 'b' },
      path: '/api/v1/namespaces/a/pods/b',
    },
    {
      reason: 'a subresource with a path of its own',
      resource: pods,
      at: { namespace: 'a', name: 'b', subresource: 'proxy/x/y' },
      path: '/api/v1/namespaces/a/pods/b/proxy/x/y',
    },
    {
      reason: 'a colon is part of a name',
      resource: roles,
      at: { name: 'system:node' },
      path: '/apis/rbac.authorization.k8s.io/v1/clusterroles/system%3Anode',
    },
    { reason: 'all namespaces', resource: pods, at: {}, path: '/api/v1/pods' },
  ];
  it.each(rows)('$reason', ({ resource, at, path }) => {
    expect(resourcePath(resource, at)).toBe(path);
  });

  const traversals = [
    { reason: 'a name that is the parent: deleting it would delete the namespace', at: { namespace: 'a', name: '..' } },
    { reason: 'a name that is the folder itself', at: { namespace: 'a', name: '.' } },
    { reason: 'a name that is a path', at: { namespace: 'a', name: 'b/../../c' } },
    { reason: 'a name that is encoded already', at: { namespace: 'a', name: '%2e%2e' } },
    { reason: 'a namespace that is the parent', at: { namespace: '..' } },
    { reason: 'a subresource that climbs', at: { namespace: 'a', name: 'b', subresource: 'proxy/../..' } },
  ];
  it.each(traversals)('refuses $reason', ({ at }) => {
    expect(() => resourcePath(pods, at)).toThrow(/is no name/);
  });

  it.each([
    { reason: 'a group that climbs', resource: { ...pods, group: '../../api/v1/secrets?x=' } },
    { reason: 'a version that is the parent', resource: { ...pods, version: '..' } },
    { reason: 'a plural that is a path', resource: { ...pods, plural: 'a/../secrets' } },
    { reason: 'a plural that ends the path', resource: { ...pods, plural: 'secrets?limit=1' } },
    { reason: 'a plural with a fragment', resource: { ...pods, plural: 'secrets#' } },
    { reason: 'a plural that is encoded already', resource: { ...pods, plural: '%2e%2e' } },
  ])('refuses $reason', ({ resource }) => {
    expect(() => resourcePath(resource, {})).toThrow(/is no group, version or plural/);
  });
});
