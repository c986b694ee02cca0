/**
 * The labels gate: protects the labels under `platform.company.com/`.
 *
 * The platform sets `managed-by` and `team`; users must not set any other key with exactly that prefix. Costs, access
 * and selectors of the platform depend on these labels. A key with a longer prefix
 * (`database.platform.company.com/type`) belongs to the user.
 */
import { GROUP, MANAGED_BY, MANAGED_BY_LABEL, TEAM_LABEL } from '../../api/index.ts';
import { type AdmissionRequest, isObject, type Json } from '../review/decode.ts';
import type { Findings, Violation } from '../review/findings.ts';
import type { Facts, Gate } from './gate.ts';
import { isOurs } from './ownership/gate.ts';
import { shown } from './ownership/owner-chain.ts';

export const labelsGate: Gate = { name: 'labels', evaluate: checkLabels };

const prefix = `${GROUP}/`;

function checkLabels(request: AdmissionRequest, facts: Facts): Findings {
  const violations = writtenLabels(request).flatMap(([key, value]) => checkLabel(key, value, facts) ?? []);
  return { violations, warnings: [], patches: [] };
}

/** `labelsOf` returns the labels of an object, or an empty map. */
export const labelsOf = (object: Json | undefined): Json =>
  isObject(object?.metadata) && isObject(object.metadata.labels) ? object.metadata.labels : {};

/**
 * Lists the protected labels that the request sets or changes. A stored, unchanged label must not block an update: the
 * Team may have been re-created since, and the mutation before this gate has corrected the value.
 */
function writtenLabels(request: AdmissionRequest): readonly [string, unknown][] {
  const { operation, object, oldObject, subResource } = request;
  if (!isOurs(request) || subResource !== undefined || (operation !== 'CREATE' && operation !== 'UPDATE')) return [];
  const before = operation === 'UPDATE' ? labelsOf(oldObject) : {};
  return Object.entries(labelsOf(object)).filter(
    ([key, value]) => key.startsWith(prefix) && !(Object.hasOwn(before, key) && before[key] === value),
  );
}

function checkLabel(key: string, value: unknown, { chain }: Facts): Violation | undefined {
  if (key === MANAGED_BY_LABEL) return value === MANAGED_BY ? undefined : managedLabel(key, value, MANAGED_BY);
  if (key !== TEAM_LABEL) return reservedLabel(key);
  switch (chain.end) {
    case 'team':
      return value === chain.team ? undefined : managedLabel(key, value, chain.team ?? '');
    case 'none':
      return noTeam(key, value, 'an object without an owner has no team');
    case 'cycle':
    case 'long':
    case 'malformed':
      return noTeam(key, value, 'its owner does not resolve to a Team');
    case 'missing':
      // The mutation before this gate removes the label; it is present only if another webhook set it again.
      return noTeam(key, value, 'the owner does not exist yet, so its team is unknown');
    default:
      return undefined;
  }
}

const managedLabel = (key: string, value: unknown, wanted: string): Violation => ({
  gate: 'labels',
  code: 'LabelManaged',
  field: `metadata.labels[${key}]`,
  message: `the label ${key} is ${shown(value)}, want "${wanted}"`,
  next: 'Remove the label: the platform sets it automatically',
});

const noTeam = (key: string, value: unknown, because: string): Violation => ({
  ...managedLabel(key, value, ''),
  message: `the label ${key} is ${shown(value)}, but ${because}`,
  next: 'Set spec.owner and remove the label: the platform sets it automatically',
});

const reservedLabel = (key: string): Violation => ({
  gate: 'labels',
  code: 'LabelReserved',
  field: `metadata.labels[${key.slice(0, 100)}]`,
  message: `the label ${key.slice(0, 100)} has the prefix ${prefix}, which is reserved for the platform`,
  next: `Use another prefix, for example team.${prefix} or example.com/`,
});
