/** Reads the common parts of a resource: kind, name and revision. */
import { hash } from 'node:crypto';
import { API_VERSION, type Kind } from '../../api/index.ts';
import { Double } from '../../cel/index.ts';
import type { PolicyIssue } from '../model.ts';
import { writeJson } from '../mutation/json.ts';
import type { Json } from '../request.ts';
import { complaints, isObject } from './shape.ts';

export interface Envelope {
  readonly name: string;
  readonly namespace: string;
  readonly revision: string;
  readonly spec: Json;
  readonly issues: PolicyIssue[];
}

export function openEnvelope(object: unknown, kind: Kind): Envelope {
  const metadata = isObject(object) && isObject(object.metadata) ? object.metadata : {};
  const name = typeof metadata.name === 'string' ? metadata.name : '';
  const namespace = typeof metadata.namespace === 'string' ? metadata.namespace : '';
  const issues: PolicyIssue[] = [];
  const complain = (code: string, path: string, message: string): void =>
    void issues.push({ severity: 'error', code, policy: name, path, message: `${path}: ${message}` });
  const spec = isObject(object) ? object.spec : undefined;
  if (!isObject(object)) complain('wrong_type', '', 'must be an object');
  else {
    if (object.apiVersion !== API_VERSION) complain('not_allowed', 'apiVersion', `must be ${API_VERSION}`);
    if (object.kind !== kind.kind) complain('not_allowed', 'kind', `must be ${kind.kind}`);
    if (name === '') complain('missing_field', 'metadata.name', 'is required');
    if (!isObject(spec)) complain('missing_field', 'spec', 'is required and must be an object');
    else for (const each of complaints(kind.spec.openapi, spec, 'spec')) complain(each.code, each.path, each.message);
  }
  const known = isObject(spec) ? withoutNulls(spec) : {};
  return { name, namespace, revision: revisionOf(metadata, known), spec: known as Json, issues };
}

/** The API server removes null fields before validation; this does the same, so that readers need not handle null. */
function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (!isObject(value) || value instanceof Double) return value;
  const kept = Object.entries(value).filter(([, each]) => each !== null && each !== undefined);
  return Object.fromEntries(kept.map(([name, each]) => [name, withoutNulls(each)]));
}

function revisionOf(metadata: Json, spec: unknown): string {
  const { uid, generation } = metadata;
  if (typeof uid === 'string' && typeof generation === 'number') return `${uid}.${generation}`;
  return digest(writeJson([metadata.name, metadata.namespace, spec]));
}

/** `digest` returns a short hash of a text. */
export const digest = (text: string): string => hash('sha256', text, 'hex').slice(0, 16);
