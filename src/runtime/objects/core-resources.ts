/** The kinds of Kubernetes itself that several rooms read and write, named once. */
import type { Resource } from './object.ts';

export const coreSecrets: Resource = {
  group: '',
  version: 'v1',
  plural: 'secrets',
  kind: 'Secret',
  namespaced: true,
};

export const coreNamespaces: Resource = {
  group: '',
  version: 'v1',
  plural: 'namespaces',
  kind: 'Namespace',
  namespaced: false,
};
