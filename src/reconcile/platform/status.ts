/** Writes a status by server-side apply: only the fields of this field manager, and only on change. */
import { isDeepStrictEqual } from 'node:util';
import {
  type Client,
  type Condition,
  type DesiredCondition,
  getCondition,
  type KubernetesObject,
  mergeConditions,
  type Resource,
} from '../../runtime/index.ts';

export const fieldManager = 'kidp-platform';

export interface DesiredStatus {
  readonly conditions: readonly DesiredCondition[];
  /** The value undefined removes a field. */
  readonly fields: Readonly<Record<string, unknown>>;
}

type WithStatus = KubernetesObject & { status?: object };

/** `statusDiffers` compares the stored conditions and fields with the desired ones. */
export function statusDiffers(object: WithStatus, { conditions, fields }: DesiredStatus): boolean {
  const status = (object.status ?? {}) as { conditions?: Condition[]; [field: string]: unknown };
  if (mergeConditions(status.conditions, conditions).changed) return true;
  return Object.entries(fields).some(([name, value]) => !isDeepStrictEqual(plain(status[name]), plain(value)));
}

/**
 * `applyStatus` sends the resourceVersion that the status was computed from. With a stale version, a transition time
 * could move although the status did not change; so that is a conflict, and the request is requeued. Returns the object
 * as it is stored now; undefined if nothing had to be written.
 */
export async function applyStatus<T extends WithStatus>(
  client: Client,
  resource: Resource,
  object: T,
  desired: DesiredStatus,
  options: { readonly now: number; readonly fieldManager?: string },
): Promise<WithStatus | undefined> {
  if (!statusDiffers(object, desired)) return undefined;
  const before = (object.status as { conditions?: Condition[] } | undefined)?.conditions;
  const { conditions } = mergeConditions(before, desired.conditions, new Date(options.now));
  const own = conditions.filter(({ type }) => desired.conditions.some((wanted) => wanted.type === type));
  const { name, namespace, resourceVersion } = object.metadata;
  const body = {
    apiVersion: object.apiVersion,
    kind: object.kind,
    metadata: {
      name,
      ...(namespace === undefined ? {} : { namespace }),
      ...(resourceVersion === undefined ? {} : { resourceVersion }),
    },
    status: { ...(plain(desired.fields) as object), conditions: own },
  };
  return client.apply<WithStatus>(resource, body, {
    subresource: 'status',
    fieldManager: options.fieldManager ?? fieldManager,
    force: true,
  });
}

/** `conditionOf` returns a condition of the object, whoever wrote it. */
export const conditionOf = (object: WithStatus, type: string): Condition | undefined =>
  getCondition((object.status as { conditions?: Condition[] } | undefined)?.conditions, type);

/** `plain` drops undefined fields, as JSON does. */
const plain = (value: unknown): unknown => (value === undefined ? undefined : JSON.parse(JSON.stringify(value)));
