/**
 * The gate of Namespaces that are deleted. One that holds objects of the platform is not deleted by surprise: they are deleted first, or
 * it is confirmed beforehand, on the Namespace, that they shall go with it. Objects that are being deleted already hold nobody up.
 */

import type { Deadline } from '../../review/deadline.ts';
import { type AdmissionRequest, isObject, type Json } from '../../review/decode.ts';
import { type Findings, nothing } from '../../review/findings.ts';
import { HttpError } from '../../review/http-error.ts';
import { CONFIRM_DELETE } from '../crds/gate.ts';
import type { AsyncGate } from '../gate.ts';
import { type Contents, contentsOf, type Held, type Reader } from './contents.ts';

const gate = 'namespaces';
/** What is left when time is up, to say so. */
const farewellMilliseconds = 500;
/** A warning of more than 256 characters may be cut off on its way. */
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
      warnings: [cut(`${gate}: ${name} is deleted with ${wordsOf(contents)}, as its annotation confirms`)],
      auditAnnotations: { 'namespace-holds': wordsOf(contents), 'namespace-confirmed-by': userInfo?.username ?? '' },
    };
  }
  if (contents.held.length > 0) return { ...nothing, violations: [violationOf(name, metadata, contents)] };
  // Not denied and not let in: what becomes of it is the failurePolicy's to say.
  if (contents.unknown !== undefined)
    throw new HttpError(
      503,
      `It could not be found out whether the Namespace ${name} holds objects of the platform: ${contents.unknown}`,
    );
  return nothing;
}

const violationOf = (name: string, metadata: Json, contents: Contents) => ({
  gate,
  code: 'HoldsObjects',
  field: '',
  message: `${name}: deleting a Namespace deletes all that is in it, data included, and it holds ${wordsOf(contents)}`,
  next: `Delete these first (kubectl get kidp -n ${name}), so that their brokers clean up. If all of it shall go, confirm it first: kubectl annotate namespace ${name} --overwrite ${CONFIRM_DELETE}=${String(metadata.uid ?? '')}${strayed(metadata)}`,
});

/** Left lying around in a manifest, it confirms nothing. */
const strayed = (metadata: Json): string =>
  annotationOf(metadata) === undefined ? '' : '. The annotation that is there is of another Namespace of that name';

/** `2 Databases (orders, users) and 1 Cache (sessions) of the platform`. */
function wordsOf({ held, unknown }: Contents): string {
  const counted = held.map(countedOf);
  const last = counted.pop();
  const words =
    last === undefined
      ? 'objects of the platform'
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
