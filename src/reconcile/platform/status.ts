/** Writes a status by server-side apply: only what this writer speaks for, and only where something changes. */
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
  /** Undefined takes a field out that was there. */
  readonly fields: Readonly<Record<string, unknown>>;
}

type WithStatus = KubernetesObject & { status?: object };

/** Whether what is there differs from what is wanted, conditions and fields alike. */
export function statusDiffers(object: WithStatus, { conditions, fields }: DesiredStatus): boolean {
  const status = (object.status ?? {}) as { conditions?: Condition[]; [field: string]: unknown };
  if (mergeConditions(status.conditions, conditions).changed) return true;
  return Object.entries(fields).some(([name, value]) => !isDeepStrictEqual(plain(status[name]), plain(value)));
}

/**
 * Names the resourceVersion that it was worked out from: on an old one a transition time could move though the status did not. Then it
 * is a conflict, and the controller comes again.
 */
export async function applyStatus<T extends WithStatus>(
  client: Client,
  resource: Resource,
  object: T,
  desired: DesiredStatus,
  options: { readonly now: number; readonly fieldManager?: string },
): Promise<void> {
  if (!statusDiffers(object, desired)) return;
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
  await client.apply(resource, body, {
    subresource: 'status',
    fieldManager: options.fieldManager ?? fieldManager,
    force: true,
  });
}

/** What another manager's condition of this type says; the reason and message are for people. */
export const conditionOf = (object: WithStatus, type: string): Condition | undefined =>
  getCondition((object.status as { conditions?: Condition[] } | undefined)?.conditions, type);

/** As JSON has it: without what is undefined. */
const plain = (value: unknown): unknown => (value === undefined ? undefined : JSON.parse(JSON.stringify(value)));
