/** Builds the request and the world of a policy test. */

import type { PolicyModel } from '../model.ts';
import type { AdmissionRequest, Json, Operation, UserInfo } from '../request.ts';
import type { ObjectQuery, World } from '../world.ts';
import { type AuthorizerAnswer, answering } from './authorizer.ts';

/** An entry of `spec.tests` of a Policy. */
export interface PolicyTest {
  readonly name: string;
  readonly object?: Json;
  readonly oldObject?: Json;
  readonly request?: {
    readonly operation?: Operation;
    readonly subresource?: string;
    readonly dryRun?: boolean;
    readonly options?: Json;
  };
  readonly user?: UserInfo;
  readonly namespace?: {
    readonly name?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly params?: readonly Json[];
  readonly context?: Readonly<Record<string, readonly Json[]>>;
  readonly authorizer?: readonly AuthorizerAnswer[];
  readonly expect: Expectation;
}

export interface Expectation {
  readonly allowed?: boolean;
  readonly message?: string;
  readonly warnings?: readonly string[];
  readonly audited?: readonly string[];
  readonly object?: Json;
}

/**
 * `requestOf` builds the request. The user and their permissions are unknown unless the test declares them: rules that
 * need them are skipped, and the report says so.
 */
export function requestOf(test: PolicyTest): AdmissionRequest {
  const { object, oldObject, request = {}, user } = test;
  const about = object ?? oldObject ?? {};
  const { name, namespace } = metadataOf(about);
  const inNamespace = test.namespace?.name ?? namespace;
  return {
    uid: 'test',
    kind: kindOf(about),
    operation: request.operation ?? (oldObject === undefined ? 'CREATE' : object === undefined ? 'DELETE' : 'UPDATE'),
    ...(request.subresource === undefined ? {} : { subResource: request.subresource }),
    ...(name === undefined ? {} : { name }),
    ...(inNamespace === undefined ? {} : { namespace: inNamespace }),
    ...(object === undefined ? {} : { object }),
    ...(oldObject === undefined ? {} : { oldObject }),
    ...(request.dryRun === undefined ? {} : { dryRun: request.dryRun }),
    ...(request.options === undefined ? {} : { options: request.options }),
    ...(user === undefined ? {} : { userInfo: user }),
    unknown: [
      ...(user === undefined ? (['userInfo'] as const) : []),
      ...(test.authorizer === undefined ? (['authorizer'] as const) : []),
    ],
  };
}

export function worldOf(test: PolicyTest, model: PolicyModel): World {
  const { labels = {}, annotations } = test.namespace ?? {};
  return {
    // The time is after every `enforceAfter`: tests evaluate the enforced policy, and their results do not depend on
    // the date.
    now: Number.MAX_SAFE_INTEGER,
    namespace: (name) => ({
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: {
        name,
        labels: { 'kubernetes.io/metadata.name': name, ...labels },
        ...(annotations === undefined ? {} : { annotations }),
      },
    }),
    ...(test.authorizer === undefined ? {} : { authorize: answering(test.authorizer) }),
    find: (query) => {
      const { params } = model;
      if (params !== undefined && isFor(query, { ...params, namespace: undefined })) return test.params ?? [];
      const variable = model.context.find((each) => isFor(query, { ...each, name: each.resourceName }));
      return variable === undefined ? undefined : (test.context?.[variable.name] ?? []);
    },
  };
}

/** Reports whether a query is the one that the policy declares. An omitted namespace is that of the object. */
function isFor(
  query: ObjectQuery,
  declared: { readonly [K in keyof ObjectQuery]?: ObjectQuery[K] | undefined },
): boolean {
  return (
    query.apiVersion === declared.apiVersion &&
    query.kind === declared.kind &&
    query.name === declared.name &&
    (declared.namespace === undefined || query.namespace === declared.namespace) &&
    JSON.stringify(query.selector ?? {}) === JSON.stringify(declared.selector ?? {})
  );
}

function kindOf(object: Json): AdmissionRequest['kind'] {
  const { apiVersion, kind } = object;
  const [version = '', group = ''] = (typeof apiVersion === 'string' ? apiVersion : '').split('/').toReversed();
  return { group, version, kind: typeof kind === 'string' ? kind : '' };
}

function metadataOf(object: Json): { readonly name?: string; readonly namespace?: string } {
  const metadata = (typeof object.metadata === 'object' ? object.metadata : undefined) as Json | null | undefined;
  const { name, namespace } = metadata ?? {};
  return {
    ...(typeof name === 'string' ? { name } : {}),
    ...(typeof namespace === 'string' ? { namespace } : {}),
  };
}
