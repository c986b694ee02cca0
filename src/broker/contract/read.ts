/**
 * Parses and validates events. Nothing is thrown for bad input: it is a value to report, with a code that the
 * dead-letter topic and the status API share.
 */
import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js';
import { parseStrictly, problemOfValue } from '../../runtime/internal.ts';
import { parseDeploymentId } from '../deployment-id.ts';
import type { HeartbeatEvent, RequestEvent, StatusEvent, StatusReport, UsageEvent } from '../messages.ts';
import { subjectOfResource } from './build.ts';
import { type EventKind, eventDefinitions, eventKinds } from './schemas.ts';

/**
 * The maximum size of an event: below Kafka's default limit (1 MiB with headers), so that a valid event always fits.
 */
export const MAX_EVENT_BYTES = 1_000_000;

export interface EventProblem {
  /** `unknown-version`: the type is known in another version. `invalid`: the event does not conform to its schema. */
  readonly code: 'malformed' | 'oversized' | 'unknown-type' | 'unknown-version' | 'invalid';
  /** A JSON Pointer; empty for the whole event. */
  readonly path: string;
  readonly message: string;
}

interface Events {
  request: RequestEvent;
  status: StatusEvent;
  heartbeat: HeartbeatEvent;
  usage: UsageEvent;
}

type EventOf<Kind extends EventKind> = Events[Kind];

type ReadResult<Kind extends EventKind> = { readonly event: EventOf<Kind> } | { readonly problem: EventProblem };

/** The event kinds that brokers may send. */
export const brokerEventKinds = ['status', 'heartbeat', 'usage'] as const;

/** Reads an event from bytes, a string or a parsed value. A type that is not among `kinds` is reported as unknown. */
export function readEvent<Kind extends EventKind>(input: unknown, kinds: readonly Kind[]): ReadResult<Kind> {
  const parsed = parse(input);
  if ('problem' in parsed) return parsed;
  const { value } = parsed;
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return problemWith('malformed', '', 'an event must be a JSON object');
  }
  const kind = kindOf(value as Readonly<Record<string, unknown>>, kinds);
  if (typeof kind !== 'string') return kind;
  const validate = validatorOf(kind);
  if (!validate(value)) return { problem: describe(validate.errors?.[0]) };
  const event = value as EventOf<Kind>;
  const contradiction = findContradiction(kind, event);
  return contradiction === undefined ? { event } : { problem: { code: 'invalid', ...contradiction } };
}

/**
 * The broker that an event addresses, whatever else it contains; undefined if it cannot be read. Brokers of several
 * versions share a topic, so an event for another broker must not be validated here.
 */
export function brokerNamedIn(bytes: Uint8Array): string | undefined {
  const parsed = parse(bytes);
  const { data } = ('value' in parsed ? (parsed.value ?? {}) : {}) as { readonly data?: unknown };
  const { broker } = (data ?? {}) as { readonly broker?: unknown };
  return typeof broker === 'string' ? broker : undefined;
}

function parse(input: unknown): { readonly value: unknown } | { readonly problem: EventProblem } {
  if (typeof input === 'string' || input instanceof Uint8Array) {
    const length = typeof input === 'string' ? Buffer.byteLength(input) : input.length;
    if (length > MAX_EVENT_BYTES) {
      return problemWith('oversized', '', `the event has ${length} bytes, at most ${MAX_EVENT_BYTES} are allowed`);
    }
    const parsed = parseStrictly(input);
    return 'problem' in parsed ? problemWith('malformed', '', parsed.problem) : parsed;
  }
  const problem = problemOfValue(input);
  return problem === undefined ? { value: input } : problemWith('malformed', '', problem);
}

function kindOf<Kind extends EventKind>(
  { specversion, type }: Readonly<Record<string, unknown>>,
  kinds: readonly Kind[],
): Kind | { readonly problem: EventProblem } {
  if (typeof type !== 'string') return problemWith('malformed', '/type', 'an event must have a type');
  const kind = kinds.find((each) => eventDefinitions[each].type === type);
  if (kind !== undefined) {
    if (specversion === '1.0') return kind;
    return problemWith('unknown-version', '/specversion', 'only CloudEvents 1.0 is supported');
  }
  const sameButVersion = kinds.find((each) => withoutVersion(eventDefinitions[each].type) === withoutVersion(type));
  if (sameButVersion !== undefined) {
    const known = eventDefinitions[sameButVersion].type;
    return problemWith(
      'unknown-version',
      '/type',
      `the version of ${quote(type)} is not supported; supported: ${known}`,
    );
  }
  const known = kinds.map((each) => eventDefinitions[each].type).join(', ');
  return problemWith('unknown-type', '/type', `the type ${quote(type)} is not supported here; supported: ${known}`);
}

const withoutVersion = (type: string): string => type.replace(/\.v[0-9]{1,9}$/, '');

const quote = (value: string): string => JSON.stringify(value.slice(0, 128));

const validators = new Map<EventKind, ValidateFunction>();

/** Compiles the schemas on first use: a command that reads no events pays nothing. */
function validatorOf(kind: EventKind): ValidateFunction {
  if (validators.size === 0) {
    const ajv = newAjv();
    for (const each of eventKinds) validators.set(each, ajv.compile(eventDefinitions[each].schema));
  }
  const validator = validators.get(kind);
  if (validator === undefined) throw new Error(`there is no schema for ${kind}`);
  return validator;
}

/**
 * Validation stops at the first error: collecting all errors would make a large invalid message more expensive than a
 * valid one.
 */
export const newAjv = (): Ajv2020 =>
  new Ajv2020({
    allErrors: false,
    strict: true,
    strictRequired: false,
    ownProperties: true,
    formats: { 'date-time': true },
  });

function describe(error: ErrorObject | undefined): EventProblem {
  const { instancePath = '', message = 'does not conform to its schema', params = {}, keyword } = error ?? {};
  const allowed = keyword === 'enum' ? `: ${(params.allowedValues as readonly string[]).join(', ')}` : '';
  const wanted = keyword === 'const' ? `: ${JSON.stringify(params.allowedValue)}` : '';
  return { code: 'invalid', path: instancePath.slice(0, 512), message: `${message.slice(0, 512)}${allowed}${wanted}` };
}

interface Contradiction {
  readonly path: string;
  readonly message: string;
}

/**
 * Finds contradictions between fields, which a schema cannot express. The kind says which fields were validated: an
 * event may have others, such as a heartbeat with a `resource` that is anything.
 */
function findContradiction(kind: EventKind, event: EventOf<EventKind>): Contradiction | undefined {
  const { broker } = event.data;
  if (!isInstant(event.time)) return { path: '/time', message: 'must be a valid date and time' };
  if (kind !== 'request' && event.source !== `/brokers/${broker}`) {
    return { path: '/source', message: `must be /brokers/${broker}, because data.broker is ${broker}` };
  }
  const { subject, of } =
    kind === 'heartbeat'
      ? { subject: broker, of: 'the broker' }
      : { subject: subjectOfResource((event.data as StatusReport).resource), of: 'the object' };
  if (event.subject !== subject) return { path: '/subject', message: `must be ${subject}, ${of} in data` };
  if (kind === 'heartbeat') return undefined;
  if (kind === 'usage') {
    const isValid = isInstant((event as UsageEvent).data.asOf);
    return isValid ? undefined : { path: '/data/asOf', message: 'must be a valid date and time' };
  }
  const { deploymentId, resource } = (event as StatusEvent | RequestEvent).data;
  const deployment = parseDeploymentId(deploymentId);
  if (deployment?.uid !== resource.uid) {
    return { path: '/data/deploymentId', message: 'must begin with the uid of the resource' };
  }
  return kind === 'request' ? findRequestContradiction(event as RequestEvent, deployment.generation) : undefined;
}

function findRequestContradiction({ id, data }: RequestEvent, generation: number): Contradiction | undefined {
  if (data.resource.generation !== undefined && data.resource.generation !== generation) {
    return { path: '/data/resource/generation', message: 'must be the generation of the deploymentId' };
  }
  const expected = `${data.deploymentId}/${data.action}`;
  const numbered =
    data.action === 'Query' && id.startsWith(expected) && /^\/[0-9]{1,15}$/.test(id.slice(expected.length));
  if (id === expected || numbered) return undefined;
  const orNumbered = data.action === 'Query' ? ', optionally followed by / and a number' : '';
  return { path: '/id', message: `must be ${expected}${orNumbered}` };
}

/** Whether a timestamp exists: 30 February matches the pattern, and JavaScript would read it as 2 March. */
function isInstant(time: string): boolean {
  const milliseconds = Date.parse(time);
  return Number.isFinite(milliseconds) && new Date(milliseconds).toISOString().slice(0, 19) === time.slice(0, 19);
}

const problemWith = (code: EventProblem['code'], path: string, message: string) => ({
  problem: { code, path, message },
});
