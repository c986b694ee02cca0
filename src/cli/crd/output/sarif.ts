/** Formats a report as SARIF 2.1.0 for code scanning: a rule for each kind of change, a result for each unsafe change. */
import { createHash } from 'node:crypto';
import type { Change } from '../../../crd-compat/index.ts';
import { sarifLog, uriOf } from '../../check/output/sarif.ts';
import { type Compared, classOf } from '../compare.ts';
import { changedLines } from '../places.ts';
import type { CrdReport } from './format.ts';
import { decisionInWords, nameInWords, objectsInWords, placeInWords, witnessInWords } from './phrases.ts';

interface Finding {
  readonly change: Change;
  readonly compared: Compared;
}

export function asSarif({ compared, problems, version }: CrdReport): string {
  const findings = compared.flatMap((each) =>
    each.verdict.changes
      .filter((change) => change.class !== 'safe')
      .map((change): Finding => ({ change, compared: each })),
  );
  const kinds = [...new Set(findings.map(({ change }) => change.kind))].sort();
  return sarifLog({
    version,
    problems,
    rules: kinds.map((kind) => ({
      id: `crd/${kind}`,
      name: kind,
      shortDescription: { text: kind.replaceAll('-', ' ') },
      properties: { tags: ['kubernetes', 'crd'] },
    })),
    notifications: compared.flatMap(objectNotification),
    results: findings.map((finding) => resultOf(finding, kinds.indexOf(finding.change.kind))),
  });
}

function resultOf({ change, compared }: Finding, ruleIndex: number) {
  const { hits, advice, witness } = change;
  const decision = decisionInWords(change);
  const words = [
    `${compared.name}: ${placeInWords(change)}: ${change.message}`,
    ...(decision === '' ? [] : [`Decided: ${decision}.`]),
    ...(hits === '' ? [] : [`Hits: ${hits}.`]),
    ...(advice === '' ? [] : [`Instead: ${advice}`]),
    ...(witness === undefined ? [] : [`Shown by: ${witnessInWords(witness)}.`]),
  ];
  return {
    ruleId: `crd/${change.kind}`,
    ruleIndex,
    level: change.class === 'breaking' ? 'error' : 'warning',
    message: { text: words.join('\n') },
    locations: [locationOf(change, compared)],
    partialFingerprints: { 'kidpCrdChange/v1': fingerprint(change, compared) },
    properties: {
      class: change.class,
      storedObjects: change.storedObjects,
      manifests: change.manifests,
      decidedBy: change.decidedBy,
      ...(witness === undefined ? {} : { witness }),
    },
  };
}

function locationOf(change: Change, { name, before, after }: Compared) {
  const { file, line, column } = changedLines(change, before, after).at;
  return {
    physicalLocation: {
      artifactLocation: { uri: uriOf(file) },
      ...(line === undefined ? {} : { region: { startLine: line, startColumn: column ?? 1 } }),
    },
    logicalLocations: [{ kind: 'resource', fullyQualifiedName: `${name} ${placeInWords(change)}` }],
  };
}

function objectNotification(compared: Compared): object[] {
  const { name, objects } = compared;
  if (objects === undefined) return [];
  const level = classOf(compared) === 'breaking' && objects.broken > 0 ? 'error' : 'note';
  const text = `${name}: ${objectsInWords(objects).join('\n')}`;
  return [{ level, descriptor: { id: 'stored-objects' }, message: { text } }];
}

function fingerprint({ version, path, kind, before, after }: Change, compared: Compared): string {
  return createHash('sha256')
    .update(JSON.stringify([nameInWords(compared), version, path, kind, before ?? null, after ?? null]))
    .digest('hex')
    .slice(0, 32);
}
