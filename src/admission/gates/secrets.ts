/**
 * The secrets gate: a Service must not name the connection Secret of another object.
 *
 * It reads no Secrets, for which kidp has no permission by default: it compares names with those that the objects of the namespace
 * report or will have. All other Secrets are checked where they are, by the broker that creates the workload.
 */
import { application, deployableKinds, GROUP, type Kind, type Service, secret, service } from '../../api/index.ts';
import { type Client, isNotFound, type KubernetesObject } from '../../runtime/index.ts';
import type { Deadline } from '../review/deadline.ts';
import { type AdmissionRequest, isObject, type Json } from '../review/decode.ts';
import { type Findings, nothing } from '../review/findings.ts';
import type { AsyncGate } from './gate.ts';

type Reader = Pick<Client, 'list'>;

export function secretsGate(client: Reader): AsyncGate {
  return {
    name: 'secrets',
    matches: ({ kind, operation, subResource, object, oldObject }) =>
      kind.group === GROUP &&
      kind.kind === service.kind &&
      subResource === undefined &&
      (operation === 'CREATE' || operation === 'UPDATE') &&
      added(object, oldObject).length > 0,
    evaluate: (request, deadline) => checkSecrets(request, deadline, client),
  };
}

interface Named {
  readonly field: string;
  readonly name: string;
}

/** The object need not conform to its schema: before a mutation, it is not validated yet. */
function namedIn(object: Json | undefined): Named[] {
  const { env, loadBalancer } = (isObject(object?.spec) ? object.spec : {}) as Partial<Service['spec']>;
  const list: readonly (Env | null)[] = Array.isArray(env) ? env : [];
  const variables = list.flatMap((each) => {
    const name = each?.valueFrom?.secretKeyRef?.name;
    return typeof name === 'string' ? [{ field: `spec.env[${each?.name}].valueFrom.secretKeyRef.name`, name }] : [];
  });
  const name = loadBalancer?.tls?.secretName;
  return typeof name === 'string' ? [...variables, { field: 'spec.loadBalancer.tls.secretName', name }] : variables;
}

type Env = NonNullable<Service['spec']['env']>[number];

function added(object: Json | undefined, oldObject: Json | undefined): Named[] {
  const before = new Set(namedIn(oldObject).map(({ name }) => name));
  return namedIn(object).filter(({ name }) => !before.has(name));
}

async function checkSecrets(request: AdmissionRequest, deadline: Deadline, client: Reader): Promise<Findings> {
  const { namespace = '', name: own = '', object, oldObject } = request;
  const owners = new Map<string, string>();
  const kinds: readonly Kind[] = [application, ...deployableKinds];
  const signal = deadline.signal();
  await Promise.all(
    kinds.map(async ({ kind, resource }) => {
      const { items } = await client.list<Holder>(resource, { namespace, signal }).catch((error: unknown) => {
        if (isNotFound(error)) return { items: [] };
        throw error;
      });
      for (const item of items) {
        if (kind === service.kind && item.metadata.name === own) continue;
        for (const name of secretsOf(kind, item)) owners.set(name, `${kind} ${item.metadata.name}`);
      }
    }),
  );
  const violations = added(object, oldObject).flatMap(({ field, name }) => {
    const owner = owners.get(name);
    return owner === undefined
      ? []
      : [
          {
            gate: 'secrets',
            code: 'SecretOfAnotherObject',
            field,
            message: `${field} is ${name}, which is the connection Secret of ${owner}`,
            next: 'Select the resource in spec.dependencies: its connection is then provided as environment variables',
          },
        ];
  });
  return violations.length === 0 ? nothing : { ...nothing, violations };
}

/** The fields that name Secrets of an object. */
interface Holder extends KubernetesObject {
  readonly spec?: { readonly connectionSecret?: { readonly name?: string } };
  readonly status?: {
    readonly connectionSecret?: { readonly name?: string };
    readonly bindings?: readonly { readonly connectionSecret?: string }[];
  };
}

/** A Secret of the platform can be marked as usable, so it is not denied here. */
function secretsOf(kind: string, { metadata, spec, status }: Holder): string[] {
  const bound = (status?.bindings ?? []).map(({ connectionSecret }) => connectionSecret);
  const isConnected = kind !== secret.kind && kind !== service.kind && kind !== application.kind;
  const own = isConnected
    ? [status?.connectionSecret?.name, spec?.connectionSecret?.name ?? `${metadata.name}-connection`]
    : [];
  return [...bound, ...own].filter((name) => name !== undefined);
}
