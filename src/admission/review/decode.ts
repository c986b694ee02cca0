/** AdmissionReview v1, coming in: from the bytes that an API server sends to a request. What goes out is in answer.ts. */
import type {
  AdmissionRequest,
  GroupVersionKind,
  GroupVersionResource,
  Json,
  Operation,
  UserInfo,
} from '../../policy/index.ts';
import { decodeLeavingManagedFields } from './managed-fields.ts';

export type { AdmissionRequest, GroupVersionKind, Json, Operation, UserInfo };

/** A review that cannot be judged: answered with a status of HTTP, because there is no uid, or no trust in it, to answer to. */
interface Unreadable {
  readonly status: 400;
  readonly message: string;
}

type DecodedReview = { readonly request: AdmissionRequest } | { readonly unreadable: Unreadable };

export function decodeReview(text: string): DecodedReview {
  let review: unknown;
  try {
    // Not JSON.parse: a rule about an int64 must see the number that was written.
    review = decodeLeavingManagedFields(text);
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

const operations: readonly unknown[] = ['CREATE', 'UPDATE', 'DELETE', 'CONNECT'] satisfies Operation[];

function decodeRequest(request: Json): DecodedReview {
  const { uid, kind, operation, object, oldObject } = request;
  if (typeof uid !== 'string' || uid === '') return unreadable('request.uid is not a string');
  if (!isGroupVersionKind(kind)) return unreadable('request.kind is not a group, version and kind');
  if (!isOperation(operation)) return unreadable('request.operation is none of CREATE, UPDATE, DELETE, CONNECT');
  // Without both sides a change cannot be seen, and what cannot be seen must not be let through.
  if ((operation === 'CREATE' || operation === 'UPDATE') && !isObject(object))
    return unreadable('request.object is not an object');
  if (operation === 'UPDATE' && !isObject(oldObject)) return unreadable('request.oldObject is not an object');
  const wrong = wrongField(request);
  if (wrong !== undefined) return unreadable(wrong);
  return { request: admitted(request, { uid, kind, operation }) };
}

/** What a policy may match on must be what it says it is: a user that is no text matches nobody, and would pass for somebody. */
function wrongField(request: Json): string | undefined {
  for (const name of ['name', 'namespace', 'subResource', 'requestSubResource']) {
    if (!isAbsent(request[name]) && typeof request[name] !== 'string') return `request.${name} is not a string`;
  }
  for (const name of ['resource', 'requestResource']) {
    if (!isAbsent(request[name]) && !isGroupVersionResource(request[name]))
      return `request.${name} is not a group, version and resource`;
  }
  if (isEmpty(request.subResource) && !isAbsent(request.resource) && !areOfOneVersion(request.kind, request.resource))
    return 'request.kind and request.resource are not of one group and version';
  if (!isAbsent(request.requestKind) && !isGroupVersionKind(request.requestKind))
    return 'request.requestKind is not a group, version and kind';
  if (!isAbsent(request.userInfo) && !isUserInfo(request.userInfo)) return 'request.userInfo is not that of a user';
  for (const name of ['object', 'oldObject', 'options']) {
    if (!isAbsent(request[name]) && !isObject(request[name])) return `request.${name} is not an object`;
  }
  return undefined;
}

function admitted(
  request: Json,
  { uid, kind, operation }: Pick<AdmissionRequest, 'uid' | 'kind' | 'operation'>,
): AdmissionRequest {
  const made: { -readonly [Field in keyof AdmissionRequest]: AdmissionRequest[Field] } = { uid, kind, operation };
  if (!isAbsent(request.resource)) made.resource = request.resource as GroupVersionResource;
  if (!isEmpty(request.subResource)) made.subResource = request.subResource as string;
  if (!isAbsent(request.requestKind)) made.requestKind = request.requestKind as GroupVersionKind;
  if (!isAbsent(request.requestResource)) made.requestResource = request.requestResource as GroupVersionResource;
  if (!isEmpty(request.requestSubResource)) made.requestSubResource = request.requestSubResource as string;
  if (!isEmpty(request.name)) made.name = request.name as string;
  if (!isEmpty(request.namespace)) made.namespace = request.namespace as string;
  if (!isAbsent(request.userInfo)) made.userInfo = request.userInfo as UserInfo;
  if (!isAbsent(request.object)) made.object = request.object as Json;
  if (!isAbsent(request.oldObject)) made.oldObject = request.oldObject as Json;
  if (!isAbsent(request.options)) made.options = request.options as Json;
  made.dryRun = request.dryRun === true;
  return made;
}

const unreadable = (message: string): DecodedReview => ({ unreadable: { status: 400, message } });

export const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && isPlain(Object.getPrototypeOf(value));

/** Numbers that were written as `1.0` are objects too, and no objects of the user's. */
const isPlain = (prototype: unknown): boolean => prototype === Object.prototype || prototype === null;

const isAbsent = (value: unknown): boolean => value === undefined || value === null;
const isEmpty = (value: unknown): boolean => value === undefined || value === null || value === '';

const isOperation = (value: unknown): value is Operation => operations.includes(value);

const isGroupVersionKind = (value: unknown): value is GroupVersionKind =>
  isObject(value) &&
  typeof value.group === 'string' &&
  typeof value.version === 'string' &&
  typeof value.kind === 'string';

const isGroupVersionResource = (value: unknown): value is GroupVersionResource =>
  isObject(value) &&
  typeof value.group === 'string' &&
  typeof value.version === 'string' &&
  typeof value.resource === 'string';

/** Only the kind of a subresource may be another than that of its resource: Scale, PodExecOptions. */
const areOfOneVersion = (kind: unknown, resource: unknown): boolean =>
  isGroupVersionKind(kind) &&
  isGroupVersionResource(resource) &&
  kind.group === resource.group &&
  kind.version === resource.version;

function isUserInfo(value: unknown): value is UserInfo {
  if (!isObject(value)) return false;
  const { username, uid, groups, extra } = value;
  const isText = (each: unknown) => isAbsent(each) || typeof each === 'string';
  const isTexts = (each: unknown) =>
    isAbsent(each) || (Array.isArray(each) && each.every((one) => typeof one === 'string'));
  return (
    isText(username) &&
    isText(uid) &&
    isTexts(groups) &&
    (isAbsent(extra) || (isObject(extra) && Object.values(extra).every(isTexts)))
  );
}
