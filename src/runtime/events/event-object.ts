/** One event as the API server takes it: names, namespaces and lengths by the rules of events.k8s.io/v1. */
import { randomBytes } from 'node:crypto';
import { microTime } from '../clock.ts';
import type { KubernetesObject, Resource } from '../objects/object.ts';
import { plainLine } from '../text.ts';

export const events: Resource = {
  group: 'events.k8s.io',
  version: 'v1',
  plural: 'events',
  kind: 'Event',
  namespaced: true,
};

export interface EventInput {
  /** The object that the event describes. */
  regarding: KubernetesObject;
  /** What else has to do with it. */
  related?: KubernetesObject;
  type: 'Normal' | 'Warning';
  /** Why, in one word: `Denied`. */
  reason: string;
  /** What was done, in one word: `Dispatch`. */
  action: string;
  /** For people. Of events that differ only in this the first one's is kept. */
  note: string;
  /** The user of the request that caused it. Each has a series and limits of their own, so that one cannot hide another. */
  user?: string;
}

interface Reference {
  apiVersion: string;
  kind: string;
  name: string;
  namespace?: string;
  uid?: string;
}

export interface EventObject extends KubernetesObject {
  metadata: { name: string; namespace: string };
  eventTime: string;
  type: 'Normal' | 'Warning';
  reason: string;
  action: string;
  note: string;
  regarding: Reference;
  related?: Reference;
  reportingController: string;
  reportingInstance: string;
}

export function eventOf(
  input: EventInput,
  reporter: { reportingController: string; reportingInstance: string },
  now: number,
): EventObject {
  const { regarding, related } = input;
  return {
    apiVersion: 'events.k8s.io/v1',
    kind: 'Event',
    // Events about cluster-scoped objects live in `default`: the API takes no other.
    metadata: { name: nameOf(regarding, now), namespace: regarding.metadata.namespace ?? 'default' },
    eventTime: microTime(now),
    type: input.type,
    reason: truncated(plainLine(input.reason), 128),
    action: truncated(plainLine(input.action), 128),
    note: truncated(plainLine(input.note), 1024),
    regarding: referenceTo(regarding),
    ...(related === undefined ? {} : { related: referenceTo(related) }),
    ...reporter,
  };
}

/** Events with the same key are the same thing happening again. */
export function seriesKey({ regarding, related, type, reason, action, user = '' }: EventInput): string {
  return JSON.stringify([
    type,
    reason,
    action,
    referenceTo(regarding),
    related === undefined ? null : referenceTo(related),
    user,
  ]);
}

/** At most so many bytes, cut between characters, with an ellipsis where something was cut off. */
export function truncated(text: string, bytes: number): string {
  if (Buffer.byteLength(text) <= bytes) return text;
  const ellipsis = '…';
  const room = bytes - Buffer.byteLength(ellipsis);
  const encoded = Buffer.from(text);
  let end = room;
  // A byte of the form 10xxxxxx is not the first of its character.
  while (end > 0 && ((encoded[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  return encoded.toString('utf8', 0, end) + ellipsis;
}

/**
 * Without the resourceVersion: it would make each occurrence another event. The name is cleaned: admission sees names before the API
 * server has validated them.
 */
function referenceTo({ apiVersion, kind, metadata: { name, namespace, uid } }: KubernetesObject): Reference {
  return {
    apiVersion,
    kind,
    name: plainLine(name),
    ...(namespace === undefined ? {} : { namespace }),
    ...(uid === undefined ? {} : { uid }),
  };
}

/** The object's name where it can be part of an event's (a role's may hold colons), and what makes it unique. */
function nameOf(regarding: KubernetesObject, now: number): string {
  const { name } = regarding.metadata;
  const usable = /^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/.test(name) && !/\.[.-]|-\./.test(name) && name.length <= 220;
  return `${usable ? name : regarding.kind.toLowerCase()}.${now.toString(16)}${randomBytes(4).toString('hex')}`;
}
