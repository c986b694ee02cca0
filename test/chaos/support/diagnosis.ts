/** Describes the objects that a run failed for: status, events, the record of the broker, and the log lines that mention them. */
import type { Chaos } from './faults.ts';
import type { Evidence, Violation } from './invariants.ts';
import type { LogLine } from './program.ts';
import { NAMESPACE, programsOf, type Stage } from './stage.ts';

export interface Findings {
  readonly seed: number;
  readonly stage: Stage;
  readonly chaos: Chaos;
  readonly evidence: Evidence;
  readonly violations: readonly Violation[];
  readonly faults: readonly string[];
}

const mostObjects = 3;
const mostLines = 60;

export async function diagnose(findings: Findings): Promise<string> {
  const { seed, chaos, violations, faults } = findings;
  const uids = [...new Set(violations.map(({ uid }) => uid))].filter((uid) => uid !== '').slice(0, mostObjects);
  const objects = await Promise.all(uids.map((uid) => aboutObject(uid, findings)));
  return [
    `${faults.length} violations (KIDP_SEED=${seed}):`,
    ...faults.slice(0, 50).map((fault) => `  ${fault}`),
    'injected faults:',
    ...chaos.timeline,
    ...objects,
  ].join('\n');
}

async function aboutObject(uid: string, { stage, evidence }: Findings): Promise<string> {
  const object = evidence.stored.find(({ metadata }) => metadata.uid === uid);
  const record = evidence.records.findLast((each) => each.uid === uid);
  const lines = programsOf(stage)
    .flatMap((program) => program.lines().map((line) => ({ program: program.name, line })))
    .filter(({ line }) => JSON.stringify(line).includes(uid))
    .sort((a, b) => ((a.line.timestamp ?? '') < (b.line.timestamp ?? '') ? -1 : 1));
  return [
    `--- ${uid}`,
    `expected: ${JSON.stringify(evidence.expected.find((each) => each.uid === uid))}`,
    `stored: ${JSON.stringify(object && { metadata: { ...object.metadata, managedFields: undefined }, spec: object.spec, status: object.status })}`,
    `record: ${JSON.stringify(record && { ...record, request: { action: record.request.action, spec: record.request.spec } })}`,
    `deployments in its status: ${evidence.intents.get(uid)?.join(' ')}`,
    `deployments in its target: ${evidence.executions.get(uid)?.join(' ')}`,
    `events: ${JSON.stringify(await eventsOf(uid, stage))}`,
    ...lines.slice(-mostLines).map(({ program, line }) => `  ${program} ${shortened(line)}`),
  ].join('\n');
}

async function eventsOf(uid: string, { client }: Stage): Promise<unknown> {
  const path = `/api/v1/namespaces/${NAMESPACE}/events`;
  const query = { fieldSelector: `involvedObject.uid=${uid}` };
  const { text } = await client.request({ method: 'GET', path, query });
  const { items = [] } = JSON.parse(text) as { items?: { reason?: string; message?: string }[] };
  return items.map(({ reason, message }) => `${reason}: ${message}`);
}

function shortened({ timestamp, level, message, pid, hostname: _, ...fields }: LogLine): string {
  return `${timestamp} ${pid} ${level} ${message} ${JSON.stringify(fields).slice(0, 600)}`;
}
