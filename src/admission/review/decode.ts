/** Decodes an AdmissionReview v1: from the bytes of the API server to a request. encode.ts encodes the response. */
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

/**
 * A review that cannot be evaluated. It is answered with an HTTP status, because its UID is missing or cannot be
 * trusted.
 */
interface Unreadable {
  readonly status: 400;
  readonly message: string;
}

type DecodedReview = { readonly request: AdmissionRequest } | { readonly unreadable: Unreadable };

/** `decodeReview` decodes a review. `caller` is the client that sent it, if it was sent over a network. */
export function decodeReview(text: string, caller?: AdmissionRequest['caller']): DecodedReview {
  let review: unknown;
  try {
    // JSON.parse is not used, because a rule on an int64 must see the exact number.
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
    return unreadable('Only admission.k8s.io/v1 AdmissionReviews are served');
  if (!isObject(review.request)) return unreadable('The AdmissionReview has no request');
  return decodeRequest(review.request, caller);
}

const operations: readonly unknown[] = ['CREATE', 'UPDATE', 'DELETE', 'CONNECT'] satisfies Operation[];

function decodeRequest(request: Json, caller: AdmissionRequest['caller']): DecodedReview {
  const { uid, kind, operation, object, oldObject } = request;
  if (typeof uid !== 'string' || uid === '') return unreadable('request.uid is not a string');
  if (!isGroupVersionKind(kind)) return unreadable('request.kind is not a group, version and kind');
  if (!isOperation(operation)) return unreadable('request.operation is none of CREATE, UPDATE, DELETE, CONNECT');
  // Without both objects a change cannot be detected, so it must not be admitted.
  if ((operation === 'CREATE' || operation === 'UPDATE') && !isObject(object))
    return unreadable('request.object is not an object');
  if (operation === 'UPDATE' && !isObject(oldObject)) return unreadable('request.oldObject is not an object');
  const wrong = wrongField(request);
  if (wrong !== undefined) return unreadable(wrong);
  return { request: admitted(request, { uid, kind, operation, ...(caller === undefined ? {} : { caller }) }) };
}

/**
 * Checks the types of the fields that policies match. A user name that is not a string would match no rule and pass.
 */
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
  if (!isAbsent(request.userInfo) && !isUserInfo(request.userInfo)) return 'request.userInfo is not a valid UserInfo';
  for (const name of ['object', 'oldObject', 'options']) {
    if (!isAbsent(request[name]) && !isObject(request[name])) return `request.${name} is not an object`;
  }
  return undefined;
}

function admitted(
  request: Json,
  known: Pick<AdmissionRequest, 'uid' | 'kind' | 'operation' | 'caller'>,
): AdmissionRequest {
  const made: { -readonly [Field in keyof AdmissionRequest]: AdmissionRequest[Field] } = known;
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

/** Decoded numbers such as `1.0` are objects too, but not JSON objects. */
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

/** Only the kind of a subresource can differ from that of its resource: Scale, PodExecOptions. */
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
