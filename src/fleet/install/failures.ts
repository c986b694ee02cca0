/** Converts errors on a cluster into FleetErrors that quote nothing secret. */
import { ApiError, ConnectionError, type UnknownObject } from '../../runtime/index.ts';
import { FleetError } from '../contract.ts';
import { type HelmOutcome, redactSecrets } from '../helm/index.ts';

/** `onCluster` runs a function and converts its errors. */
export async function onCluster<Result>(
  cluster: string,
  manifests: readonly UnknownObject[],
  work: () => Promise<Result>,
): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    throw failureOf(error, cluster, manifests);
  }
}

function failureOf(error: unknown, cluster: string, manifests: readonly UnknownObject[]): unknown {
  if (error instanceof FleetError) return error;
  if (error instanceof ConnectionError) {
    return new FleetError('cluster/unreachable', `${cluster} is unreachable (${error.failure})`, {
      temporary: true,
      cause: error,
    });
  }
  if (!(error instanceof ApiError)) return error;
  const said = redactSecrets(error.message, knownOf(manifests));
  if (error.status === 401 || error.status === 403) return new FleetError('cluster/forbidden', `${cluster}: ${said}`);
  const temporary = error.status === 409 || error.status === 429 || error.status >= 500;
  return new FleetError('helm/failed', `${cluster}: ${said}`, { temporary });
}

/** A denial by admission concerns the installed objects; it is neither missing permission nor temporary. */
const DENIED = /denied the request|ValidatingAdmissionPolicy/;
/** Helm timed out waiting, whatever it last saw; the next wait would be as long. */
const WAITED_FOR = /not ready\. status: |still exists\. status: |timed out waiting for the condition/;
/** An unavailable webhook: often that of the operator itself, whose pods are being replaced. */
const WEBHOOK_AWAY = /failed calling webhook|failed to call webhook|conversion webhook for [^ ]+ failed/;
const FORBIDDEN = / is forbidden: |Unauthorized|asked for the client to provide credentials/;
const UNREACHABLE = new RegExp(
  [
    'cluster unreachable',
    'connection (?:refused|reset|timed out|lost)',
    'no route to host',
    'network is unreachable',
    'no such host',
    'server misbehaving',
    'i/o timeout',
    'TLS handshake timeout',
    '\\bEOF\\b',
    'broken pipe',
    'server closed idle connection',
    'GOAWAY',
    'Client\\.Timeout exceeded',
    'request canceled',
    'context deadline exceeded',
  ].join('|'),
);
/** Temporary errors and conflicts: 409, 429 and 5xx in the wording of kubectl and Helm. */
const BUSY = new RegExp(
  [
    'another operation \\([^)]*\\) is in progress',
    'Operation cannot be fulfilled on',
    'the object has been modified',
    '[Tt]oo many requests',
    'currently unable to handle the request',
    'unable to return a response in the time allotted',
    'request did not complete within',
    'could not be completed at this time',
    'Internal error occurred',
    'an error on the server \\(',
    'apiserver not ready',
    'storage is \\(re\\)initializing',
    'etcdserver: (?:no |not )?leader',
    'etcdserver: request timed out',
    'etcdserver: (?:too many requests|server stopped|unhealthy cluster)',
    '(?:Bad Gateway|Service Unavailable|Gateway Time-?out)',
  ].join('|'),
);

export function helmFailure(
  { stderr, stdout }: Pick<HelmOutcome, 'stderr' | 'stdout'>,
  cluster: string,
  manifests: readonly UnknownObject[],
): FleetError {
  const text = stderr.trim() === '' ? stdout : stderr;
  const [, said = text] = /(?:^|\n)Error: ([\s\S]*)$/.exec(text) ?? [];
  const message = `${cluster}: ${redactSecrets(said, knownOf(manifests))}`;
  // Quotations come from the chart or from values, and say nothing about the cluster.
  const words = said.replace(/"(?:[^"\\]|\\.)*"/g, '""');
  if (DENIED.test(words)) return new FleetError('helm/failed', message);
  if (WEBHOOK_AWAY.test(words)) return new FleetError('helm/failed', message, { temporary: true });
  if (FORBIDDEN.test(words)) return new FleetError('cluster/forbidden', message);
  if (WAITED_FOR.test(words)) return new FleetError('helm/failed', message);
  if (UNREACHABLE.test(words)) return new FleetError('cluster/unreachable', message, { temporary: true });
  return new FleetError('helm/failed', message, { temporary: BUSY.test(words) });
}

/** `helmLine` redacts an output line of Helm, for events. */
export const helmLine = (line: string, manifests: readonly UnknownObject[]): string =>
  redactSecrets(line, knownOf(manifests));

const known = new WeakMap<readonly UnknownObject[], ReturnType<typeof knownIn>>();

function knownOf(manifests: readonly UnknownObject[]): ReturnType<typeof knownIn> {
  const found = known.get(manifests) ?? knownIn(manifests);
  known.set(manifests, found);
  return found;
}

/** Names and kinds are not secret; values of Secrets and of container environments may be. */
function knownIn(manifests: readonly UnknownObject[]) {
  const words = new Set(['CustomResourceDefinition', 'v1']);
  const secrets: string[] = [];
  for (const object of manifests) {
    const { apiVersion, kind, metadata } = object;
    for (const word of [apiVersion, ...apiVersion.split('/'), kind, `${kind}.${apiVersion}`]) words.add(word);
    for (const word of [metadata.name, metadata.namespace]) if (word !== undefined) words.add(word);
    if (kind === 'Secret') secrets.push(...leavesIn(object.data, true), ...leavesIn(object.stringData, false));
    else secrets.push(...environmentIn(object));
  }
  return { words, secrets };
}

const leavesIn = (values: unknown, isEncoded: boolean): string[] =>
  Object.values((values ?? {}) as Readonly<Record<string, unknown>>).flatMap((value) => {
    const text = String(value);
    return isEncoded ? [text, Buffer.from(text, 'base64').toString('utf8')] : [text];
  });

function environmentIn(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(environmentIn);
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, each]) => {
    if (key !== 'env' || !Array.isArray(each)) return environmentIn(each);
    return each.flatMap((variable: unknown) => {
      const text = (variable as { value?: unknown } | null)?.value;
      return typeof text === 'string' ? [text] : [];
    });
  });
}
