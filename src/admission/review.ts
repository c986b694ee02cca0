/** AdmissionReview v1: from the bytes that an API server sends to a request, and from a decision to the bytes of the answer. */
import type { AdmissionRequest, GroupVersionKind, Json, Operation, UserInfo } from '../policy/index.ts';
import type { JsonPatchOperation } from '../runtime/index.ts';
import type { Decision } from './gates.ts';

export type { AdmissionRequest, GroupVersionKind, Json, Operation, UserInfo };

/** A review that cannot be judged: answered with a status of HTTP, because there is no uid, or no trust in it, to answer to. */
export interface Unreadable {
  readonly status: 400;
  readonly message: string;
}

export type DecodedReview = { readonly request: AdmissionRequest } | { readonly unreadable: Unreadable };

export function decodeReview(text: string): DecodedReview {
  let review: unknown;
  try {
    review = JSON.parse(text);
  } catch (error) {
    return unreadable(`The body is not JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
  if (!isObject(review)) return unreadable('The body is not a JSON object; send an AdmissionReview');
  if (review.kind !== 'AdmissionReview') return unreadable('The body is not an AdmissionReview');
  if (review.apiVersion === 'admission.k8s.io/v1beta1') {
    return unreadable(
      'AdmissionReview v1beta1 is not served; set admissionReviewVersions: ["v1"] in the webhook configuration',
    );
  }
  if (review.apiVersion !== 'admission.k8s.io/v1')
    return unreadable('Only AdmissionReview of admission.k8s.io/v1 is served');
  if (!isObject(review.request)) return unreadable('The AdmissionReview holds no request');
  return decodeRequest(review.request);
}

/** The API server takes the answer only if it carries the uid of the request. */
export function encodeReview(uid: string, decision: Decision): string {
  return JSON.stringify({
    apiVersion: 'admission.k8s.io/v1',
    kind: 'AdmissionReview',
    response: {
      uid,
      allowed: decision.allowed,
      ...(decision.allowed ? {} : { status: statusOf(decision) }),
      ...(decision.warnings.length === 0 ? {} : { warnings: decision.warnings }),
      ...(decision.patches.length === 0 ? {} : { patchType: 'JSONPatch', patch: encodePatch(decision.patches) }),
    },
  });
}

/** One denial tells everything that is wrong, so that it can all be mended at once. */
export function denialMessage({ violations }: Decision): string {
  return violations.map(({ gate, message, next }) => `${gate}: ${message}. ${next}.`).join('\n');
}

const operations: readonly unknown[] = ['CREATE', 'UPDATE', 'DELETE', 'CONNECT'] satisfies Operation[];

function decodeRequest(request: Json): DecodedReview {
  const { uid, kind, resource, operation, object, oldObject, namespace, name, subResource } = request;
  if (typeof uid !== 'string' || uid === '') return unreadable('request.uid is not a string');
  if (!isGroupVersionKind(kind)) return unreadable('request.kind is not a group, version and kind');
  if (!isOperation(operation)) return unreadable('request.operation is none of CREATE, UPDATE, DELETE, CONNECT');
  // Without both sides a change cannot be seen, and what cannot be seen must not be let through.
  if ((operation === 'CREATE' || operation === 'UPDATE') && !isObject(object))
    return unreadable('request.object is not an object');
  if (operation === 'UPDATE' && !isObject(oldObject)) return unreadable('request.oldObject is not an object');
  return {
    request: {
      uid,
      kind,
      operation,
      ...(isGroupVersionResource(resource) ? { resource } : {}),
      ...(typeof subResource === 'string' && subResource !== '' ? { subResource } : {}),
      ...(typeof name === 'string' && name !== '' ? { name } : {}),
      ...(typeof namespace === 'string' && namespace !== '' ? { namespace } : {}),
      ...(isObject(request.userInfo) ? { userInfo: request.userInfo as UserInfo } : {}),
      ...(isObject(object) ? { object } : {}),
      ...(isObject(oldObject) ? { oldObject } : {}),
      dryRun: request.dryRun === true,
    },
  };
}

/** What `kubectl` and a client's error show; the causes are for programs. */
function statusOf(decision: Decision) {
  return {
    code: 403,
    reason: 'Forbidden',
    message: denialMessage(decision),
    details: { causes: decision.violations.map(({ code, field, message }) => ({ reason: code, field, message })) },
  };
}

const encodePatch = (patches: readonly JsonPatchOperation[]): string =>
  Buffer.from(JSON.stringify(patches)).toString('base64');

const unreadable = (message: string): DecodedReview => ({ unreadable: { status: 400, message } });

export const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const isOperation = (value: unknown): value is Operation => operations.includes(value);

const isGroupVersionKind = (value: unknown): value is GroupVersionKind =>
  isObject(value) &&
  typeof value.group === 'string' &&
  typeof value.version === 'string' &&
  typeof value.kind === 'string';

const isGroupVersionResource = (value: unknown): value is { group: string; version: string; resource: string } =>
  isObject(value) &&
  typeof value.group === 'string' &&
  typeof value.version === 'string' &&
  typeof value.resource === 'string';
