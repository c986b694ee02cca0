/** What went wrong on a cluster, as a FleetError that quotes nothing secret. */
import { ApiError, ConnectionError, type UnknownObject } from '../../runtime/index.ts';
import { FleetError } from '../contract.ts';
import { type HelmOutcome, withoutSecrets } from '../helm/index.ts';

/** Runs it, and says where it went wrong. */
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
    return new FleetError('cluster/unreachable', `${cluster} does not answer (${error.failure})`, {
      temporary: true,
      cause: error,
    });
  }
  if (!(error instanceof ApiError)) return error;
  const said = withoutSecrets(error.message, knownOf(manifests));
  if (error.status === 401 || error.status === 403) return new FleetError('cluster/forbidden', `${cluster}: ${said}`);
  const temporary = error.status === 409 || error.status === 429 || error.status >= 500;
  return new FleetError('helm/failed', `${cluster}: ${said}`, { temporary });
}

const UNREACHABLE =
  /cluster unreachable|connection refused|connection reset|no route to host|i\/o timeout|TLS handshake timeout|unexpected EOF|no such host/;
const FORBIDDEN = / is forbidden: |Unauthorized|asked for the client to provide credentials/;
/** What admission says is a refusal of what is installed, and no lack of rights. */
const DENIED = /admission webhook|denied the request|ValidatingAdmissionPolicy/;

export function helmFailure(
  { stderr, stdout }: Pick<HelmOutcome, 'stderr' | 'stdout'>,
  cluster: string,
  manifests: readonly UnknownObject[],
): FleetError {
  const text = stderr.trim() === '' ? stdout : stderr;
  const [, said = text] = /(?:^|\n)Error: ([\s\S]*)$/.exec(text) ?? [];
  const message = `${cluster}: ${withoutSecrets(said, knownOf(manifests))}`;
  if (FORBIDDEN.test(said) && !DENIED.test(said)) return new FleetError('cluster/forbidden', message);
  if (UNREACHABLE.test(said)) return new FleetError('cluster/unreachable', message, { temporary: true });
  return new FleetError('helm/failed', message);
}

/** A line of Helm's, for events. */
export const helmLine = (line: string, manifests: readonly UnknownObject[]): string =>
  withoutSecrets(line, knownOf(manifests));

const known = new WeakMap<readonly UnknownObject[], ReturnType<typeof knownIn>>();

function knownOf(manifests: readonly UnknownObject[]): ReturnType<typeof knownIn> {
  const found = known.get(manifests) ?? knownIn(manifests);
  known.set(manifests, found);
  return found;
}

/** Names and kinds are no secrets; what is in Secrets, and what containers get as their environment, may be. */
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
