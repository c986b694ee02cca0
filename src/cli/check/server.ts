/**
 * `--server-dry-run`: the API server itself is asked, with everything that runs there: schemas, other webhooks, our own with the
 * policies of the cluster. Nothing is stored.
 */
import type { UnknownObject } from '../../runtime/index.ts';
import type { Progress } from '../common/progress.ts';
import type { LocatedObject } from '../documents/index.ts';
import { type Cluster, groupVersion, inParallel } from './cluster.ts';
import { type CheckResult, referenceOf } from './result.ts';

const FIELD_MANAGER = 'kidp-check';

export async function askServer(
  objects: readonly LocatedObject[],
  cluster: Cluster,
  progress: Progress,
): Promise<CheckResult[]> {
  const answers = new Map<LocatedObject, CheckResult[]>();
  await inParallel(objects, async (located) => {
    answers.set(located, await ask(located, cluster));
    progress.step(() => `asked about ${answers.size} of ${objects.length} objects`);
  });
  return objects.flatMap((located) => answers.get(located) ?? []);
}

interface Status {
  message?: string;
  details?: { causes?: { reason?: string; field?: string; message?: string }[] };
}

async function ask(located: LocatedObject, { client, mapping }: Cluster): Promise<CheckResult[]> {
  const { object } = located;
  const { group, version } = groupVersion(object.apiVersion);
  const resource = mapping.byKind(group, object.kind, version);
  if (resource === undefined) {
    return [
      refusal(
        located,
        'error',
        'api-server',
        'unknown-kind',
        `the cluster serves no ${object.apiVersion} ${object.kind}`,
      ),
    ];
  }
  const query = { dryRun: 'All', fieldManager: FIELD_MANAGER, fieldValidation: 'Warn' };
  const answer = await client.request(
    // What the server is to name can only be created.
    object.metadata.name === undefined
      ? { method: 'POST', path: pathOf(object, resource), query, body: object }
      : {
          method: 'PATCH',
          path: pathOf(object, resource),
          query: { ...query, force: 'true' },
          contentType: 'application/apply-patch+yaml',
          body: object,
        },
  );
  const warnings = answer.warnings.map((message) => refusal(located, 'warn', 'api-server', '', message));
  if (answer.status < 400) {
    return [
      ...warnings,
      { ...refusal(located, 'pass', 'api-server', '', 'admitted by the API server'), denies: false },
    ];
  }
  return [...warnings, ...refusals(located, answer.status, statusOf(answer.text))];
}

/** The causes of a webhook's denial name the rule; the API server passes them on. */
function refusals(located: LocatedObject, code: number, { message = '', details }: Status): CheckResult[] {
  const [, webhook] = /admission webhook "([^"]+)" denied the request/.exec(message) ?? [];
  const [, native, binding] =
    /ValidatingAdmissionPolicy '([^']+)' with binding '([^']+)' denied request/.exec(message) ?? [];
  const causes = (details?.causes ?? []).filter((cause) => cause.message !== undefined && cause.message !== '');
  // Neither a policy nor the schema has said no: the question did not come that far.
  const verdict = native === undefined && webhook === undefined && code !== 422 ? 'error' : 'fail';
  const otherwise = native ?? webhook ?? 'api-server';
  const bound = binding === undefined ? {} : { binding };
  if (causes.length === 0) return [{ ...refusal(located, verdict, otherwise, '', message), ...bound }];
  return causes.map(({ reason = '', field, message: cause = '' }) => {
    const policy = webhook === undefined ? otherwise : (policyOf(message, cause) ?? webhook);
    return { ...refusal(located, verdict, policy, reason, cause, field), ...bound };
  });
}

/** Our webhook writes a line for each cause, and says first who objects: `policy images, rule registry: …` or `ownership: …`. */
function policyOf(message: string, cause: string): string | undefined {
  const line = message.split('\n').find((each) => each.includes(`: ${cause}`));
  const gate = line
    ?.slice(0, line.indexOf(`: ${cause}`))
    .replace(/^admission webhook "[^"]+" denied the request: /, '');
  return gate === undefined ? undefined : (/^policy (.+?)(?: \(binding .+\))?, rule .*$/.exec(gate)?.[1] ?? gate);
}

function refusal(
  located: LocatedObject,
  result: CheckResult['result'],
  policy: string,
  rule: string,
  message: string,
  field?: string,
): CheckResult {
  return {
    policy,
    rule,
    resource: referenceOf(located, field),
    result,
    message,
    denies: result === 'fail' || result === 'error',
    ...(field === undefined || field === '' ? {} : { field }),
  };
}

function statusOf(text: string): Status {
  try {
    return JSON.parse(text) as Status;
  } catch {
    return { message: text };
  }
}

function pathOf(
  object: UnknownObject,
  { group, version, plural, namespaced }: { group: string; version: string; plural: string; namespaced: boolean },
): string {
  const { name, namespace = 'default' } = object.metadata;
  const root = group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
  const parts = [...(namespaced ? ['namespaces', namespace] : []), plural, ...(name === undefined ? [] : [name])];
  return `${root}/${parts.map(encodeURIComponent).join('/')}`;
}
