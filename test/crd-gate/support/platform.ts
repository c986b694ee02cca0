/** A control plane of one's own with the gate in it, and a definition to change. */
import { type Admission, type CrdGateOptions, startAdmission } from '../../../src/admission/index.ts';
import { ApiError, type Client, type Resource, type UnknownObject } from '../../../src/runtime/index.ts';
import { eventually } from '../../../src/runtime/testing/index.ts';
import { definitions, type Platform, platformNamespace, startPlatform } from '../../admission/support/platform.ts';
import type { ControlPlaneOptions } from '../../support/cluster.ts';

export const patient = { within: 180_000, every: 100 };

export interface GatePlane extends Platform {
  /** The gate with these options, in place of the one before. */
  gate(options?: CrdGateOptions, client?: Client): Promise<Admission>;
}

export async function startGatePlane(options: ControlPlaneOptions = {}): Promise<GatePlane> {
  const platform = await startPlatform(options);
  const webhook = platform.webhook();
  let admission: Admission | undefined;
  return {
    ...platform,
    async gate(crds = {}, client = platform.client) {
      await admission?.stop();
      admission = await startAdmission({ client, platformNamespace, crds, ...webhook });
      await eventually(() => isAsked(platform.client), patient);
      return admission;
    },
    async stop() {
      await admission?.stop();
      await platform.stop();
    },
  };
}

/**
 * Waits until the API server calls the gate: a request that the gate always denies is denied by it, and not because of
 * a failed connection.
 */
async function isAsked(client: Client): Promise<boolean> {
  const said = await refusalOf(() => client.create(definitions, widgets('probes', deep(400)), { dryRun: true }));
  return said.includes('crd compatibility');
}

/** A schema of so many levels. */
export const deep = (levels: number): object =>
  levels === 0 ? { type: 'string' } : { type: 'object', properties: { a: deep(levels - 1) } };

/** What the API server says; empty where it lets it happen. */
export async function refusalOf(attempt: () => Promise<unknown>): Promise<string> {
  try {
    await attempt();
    return '';
  } catch (error) {
    if (error instanceof ApiError) return error.message;
    throw error;
  }
}

export interface Definition extends UnknownObject {
  spec: {
    group: string;
    scope: string;
    names: { plural: string; kind: string; [name: string]: unknown };
    versions: { name: string; served: boolean; storage: boolean; schema: unknown; [field: string]: unknown }[];
    [field: string]: unknown;
  };
}

/** A definition of one version whose objects have a spec of that schema. */
export function widgets(plural: string, spec: object, over: Partial<Definition['spec']> = {}): Definition {
  const kind = `${plural.slice(0, 1).toUpperCase()}${plural.slice(1)}Kind`;
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.gate.example.com` },
    spec: {
      group: 'gate.example.com',
      scope: 'Namespaced',
      names: { plural, kind },
      versions: [version('v1', spec)],
      ...over,
    },
  };
}

export const version = (name: string, spec: object, over: object = {}): Definition['spec']['versions'][number] => ({
  name,
  served: true,
  storage: true,
  schema: { openAPIV3Schema: { type: 'object', properties: { spec } } },
  ...over,
});

/** A spec with a size of these bounds. */
export const size = (bounds: object): object => ({
  type: 'object',
  properties: { size: { type: 'integer', ...bounds }, colour: { type: 'string' } },
});

export const resourceOf = ({ spec }: Definition): Resource => ({
  group: spec.group,
  version: spec.versions[0]?.name ?? 'v1',
  plural: spec.names.plural,
  kind: spec.names.kind,
  namespaced: spec.scope === 'Namespaced',
});

export const objectOf = (definition: Definition, name: string, spec: object, namespace = 'default'): UnknownObject => ({
  apiVersion: `${definition.spec.group}/${definition.spec.versions[0]?.name}`,
  kind: definition.spec.names.kind,
  metadata: { name, namespace },
  spec,
});

/** Applies a definition, and waits until objects of it can be made. */
export async function define(client: Client, definition: Definition): Promise<UnknownObject> {
  await client.apply(definitions, definition, { fieldManager: 'test', force: true });
  await eventually(() => client.list(resourceOf(definition), { limit: 1 }), patient);
  return client.get(definitions, { name: definition.metadata.name });
}

export const change = (client: Client, definition: Definition, over: object = {}) =>
  client.apply(definitions, definition, { fieldManager: 'test', force: true, ...over });

export const digestIn = (said: string): string => /sha256:[0-9a-f]{64}/.exec(said)?.[0] ?? '';
