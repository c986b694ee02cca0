/**
 * The namespaces gate: denies the deletion of a Namespace that contains platform objects, unless they are deleted first
 * or the deletion is confirmed by an annotation on the Namespace. Objects that are already being deleted do not block
 * it.
 */

import type { Deadline } from '../../review/deadline.ts';
import { type AdmissionRequest, isObject, type Json } from '../../review/decode.ts';
import { type Findings, nothing } from '../../review/findings.ts';
import { HttpError } from '../../review/http-error.ts';
import { CONFIRM_DELETE } from '../crds/gate.ts';
import type { AsyncGate } from '../gate.ts';
import { type Contents, contentsOf, type Held, type Reader } from './contents.ts';

const gate = 'namespaces';
/** The reserve for the response. */
const farewellMilliseconds = 500;
/** A warning of more than 256 characters may be truncated. */
const longestWarning = 250;

export function namespaceGate(client: Reader): AsyncGate {
  return {
    name: gate,
    matches: isNamespaceDeletion,
    evaluate: (request, deadline) => checkDeletion(request, deadline, client),
  };
}

const isNamespaceDeletion = ({ kind, operation, subResource }: AdmissionRequest): boolean =>
  operation === 'DELETE' && kind.group === '' && kind.kind === 'Namespace' && subResource === undefined;

async function checkDeletion(request: AdmissionRequest, deadline: Deadline, client: Reader): Promise<Findings> {
  const { oldObject, userInfo } = request;
  const metadata = metadataOf(oldObject);
  const name = request.name ?? String(metadata.name ?? '');
  if (typeof metadata.deletionTimestamp === 'string') return nothing;
  const signal = AbortSignal.timeout(Math.max(1, deadline.at - Date.now() - farewellMilliseconds));
  const contents = await contentsOf(name, { client, signal });
  const confirmation = annotationOf(metadata);
  if (confirmation !== undefined && confirmation === metadata.uid) {
    if (contents.held.length === 0 && contents.unknown === undefined) return nothing;
    return {
      ...nothing,
      warnings: [cut(`${gate}: ${name} is deleted with ${summaryOf(contents)}, as confirmed by its annotation`)],
      auditAnnotations: { 'namespace-holds': summaryOf(contents), 'namespace-confirmed-by': userInfo?.username ?? '' },
    };
  }
  if (contents.held.length > 0) return { ...nothing, violations: [violationOf(name, metadata, contents)] };
  // The request is neither denied nor admitted: the failurePolicy decides.
  if (contents.unknown !== undefined)
    throw new HttpError(
      503,
      `Could not determine whether the Namespace ${name} contains platform objects: ${contents.unknown}`,
    );
  return nothing;
}

const violationOf = (name: string, metadata: Json, contents: Contents) => ({
  gate,
  code: 'NamespaceNotEmpty',
  field: '',
  message: `${name}: deleting a Namespace deletes everything in it, including data, and it contains ${summaryOf(contents)}`,
  next: `Delete these objects first (kubectl get kidp -n ${name}), so that their brokers clean up. To delete everything, confirm it first: kubectl annotate namespace ${name} --overwrite ${CONFIRM_DELETE}=${String(metadata.uid ?? '')}${strayed(metadata)}`,
});

/** A confirmation for an earlier Namespace has no effect. */
const strayed = (metadata: Json): string =>
  annotationOf(metadata) === undefined ? '' : '. The present annotation is for an earlier Namespace with this name';

/** Summarizes the contents: `2 Databases (orders, users) and 1 Cache (sessions) of the platform`. */
function summaryOf({ held, unknown }: Contents): string {
  const counted = held.map(countedOf);
  const last = counted.pop();
  const words =
    last === undefined
      ? 'platform objects'
      : `${counted.length === 0 ? '' : `${counted.join(', ')} and `}${last} of the platform`;
  return unknown === undefined ? words : `${words} (not all could be counted: ${unknown})`;
}

function countedOf({ kind, count, isEstimate, first }: Held): string {
  const more = count > first.length ? ', …' : '';
  return `${isEstimate ? 'about ' : ''}${count} ${kind}${count === 1 ? '' : 's'} (${first.join(', ')}${more})`;
}

const cut = (text: string): string => (text.length > longestWarning ? `${text.slice(0, longestWarning - 1)}…` : text);

const metadataOf = (object: Json | undefined): Json => (isObject(object?.metadata) ? object.metadata : {});

function annotationOf({ annotations }: Json): string | undefined {
  const value = isObject(annotations) ? annotations[CONFIRM_DELETE] : undefined;
  return typeof value === 'string' ? value.trim() : undefined;
}
