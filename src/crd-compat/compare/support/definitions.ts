/** Small definitions for tests. */
import type { Crd, CrdSpec, CrdVersion } from '../../crd.ts';
import type { CrdSchema } from '../../schema.ts';

export const version = (schema: CrdSchema, more: Partial<CrdVersion> = {}): CrdVersion => ({
  name: 'v1',
  served: true,
  storage: true,
  schema: { openAPIV3Schema: schema },
  ...more,
});

/** A resource whose `.spec.value` has the given schema. */
export const specOf = (value: CrdSchema): CrdSchema => ({
  type: 'object',
  properties: { spec: { type: 'object', properties: { value, other: { type: 'string' } } } },
});

export const crdOf = (schema: CrdSchema | readonly CrdVersion[], more: Partial<CrdSpec> = {}): Crd => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'widgets.example.com' },
  spec: {
    group: 'example.com',
    scope: 'Namespaced',
    names: { plural: 'widgets', kind: 'Widget' },
    versions: isVersions(schema) ? schema : [version(schema)],
    ...more,
  },
});

const isVersions = (value: CrdSchema | readonly CrdVersion[]): value is readonly CrdVersion[] => Array.isArray(value);
