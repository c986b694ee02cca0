/**
 * The labels gate: `platform.company.com/managed-by` and `/team` hold what the platform sets, and no other key under exactly that
 * prefix is anybody's to set. Cost, access and selectors of the platform hang on them. A prefix in front of it
 * (`database.platform.company.com/type`) makes a key the user's own.
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

/** A map, or nothing. */
export const labelsOf = (object: Json | undefined): Json =>
  isObject(object?.metadata) && isObject(object.metadata.labels) ? object.metadata.labels : {};

/**
 * Our keys that this request sets or changes. What is stored already and only kept must not lock an object out: a Team may have
 * been made anew since, and the mutation before this gate has put the value right.
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
  if (key === MANAGED_BY_LABEL) return value === MANAGED_BY ? undefined : differs(key, value, MANAGED_BY);
  if (key !== TEAM_LABEL) return notYours(key);
  switch (chain.end) {
    case 'team':
      return value === chain.team ? undefined : differs(key, value, chain.team ?? '');
    case 'none':
      return noTeam(key, value, 'without an owner there is no team');
    case 'cycle':
    case 'long':
    case 'malformed':
      return noTeam(key, value, 'its owner leads to no Team');
    case 'missing':
      // The mutation before this gate takes it out; here it is again only if somebody has put it back.
      return noTeam(key, value, 'who owns this is not known before the owner exists');
    default:
      return undefined;
  }
}

const differs = (key: string, value: unknown, wanted: string): Violation => ({
  gate: 'labels',
  code: 'LabelOfPlatform',
  field: `metadata.labels[${key}]`,
  message: `the label ${key} is ${shown(value)}, and the platform sets it to "${wanted}"`,
  next: 'Leave the label out, it is set by itself',
});

const noTeam = (key: string, value: unknown, because: string): Violation => ({
  ...differs(key, value, ''),
  message: `the label ${key} is ${shown(value)}, and ${because}`,
  next: 'Say in spec.owner who owns this, and leave the label to the platform',
});

const notYours = (key: string): Violation => ({
  gate: 'labels',
  code: 'LabelReserved',
  field: `metadata.labels[${key.slice(0, 100)}]`,
  message: `the label ${key.slice(0, 100)} is under ${prefix}, which only the platform uses`,
  next: `Use a prefix of your own, such as team.${prefix} or example.com/`,
});
