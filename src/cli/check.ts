/** `kidp check`: what admission would decide about manifests, without a cluster. It asks the webhook's own decision function. */
import { type AdmissionRequest, decide, gates } from '../admission/index.ts';
import { GROUP } from '../api/index.ts';
import { formatKey, keyOf, type UnknownObject } from '../runtime/index.ts';
import { type LocatedObject, readObjects } from './documents.ts';
import { InputError } from './failure.ts';

export interface CheckOptions {
  filename: string[];
  old?: string[];
  output: string;
}

export interface Streams {
  in: NodeJS.ReadableStream;
  out: { write(text: string): unknown };
  err: { write(text: string): unknown };
}

export interface CheckResult {
  policy: string;
  rule: string;
  resource: { apiVersion: string; kind: string; namespace?: string; name: string; file: string; line: number };
  result: 'pass' | 'fail' | 'skip';
  message: string;
}

/** The exit code: 0 clean, 1 violations. Bad input is thrown. */
export async function check(options: CheckOptions, streams: Streams): Promise<number> {
  if (options.output !== 'text' && options.output !== 'json') {
    throw new InputError('output', `there is no output "${options.output}": choose text or json.`);
  }
  const before = new Map(
    (await readObjects(options.old ?? [], streams.in)).map(({ object }) => [identity(object), object]),
  );
  const objects = await readObjects(options.filename, streams.in);
  if (objects.length === 0) {
    throw new InputError('nothing', `${options.filename.join(', ')}: there is no Kubernetes object in there.`);
  }
  const results = objects.flatMap((located) => judge(located, before.get(identity(located.object))));
  streams.out.write(
    options.output === 'json' ? `${JSON.stringify(results, null, 2)}\n` : asText(results, objects.length),
  );
  return results.some(({ result }) => result === 'fail') ? 1 : 0;
}

function judge({ object, file, line }: LocatedObject, before: UnknownObject | undefined): CheckResult[] {
  const { namespace, name } = object.metadata;
  const resource = {
    apiVersion: object.apiVersion,
    kind: object.kind,
    ...(namespace === undefined ? {} : { namespace }),
    name,
    file,
    line,
  };
  if (!object.apiVersion.startsWith(`${GROUP}/`)) {
    return [{ policy: '', rule: '', resource, result: 'skip', message: 'no policy and no gate looks at this object' }];
  }
  const request = requestFor(object, before);
  return gates.flatMap((gate): CheckResult[] => {
    const { violations } = decide(request, [gate]);
    if (violations.length === 0) return [{ policy: gate.name, rule: '', resource, result: 'pass', message: '' }];
    return violations.map(({ code, message, next }) => ({
      policy: gate.name,
      rule: code,
      resource,
      result: 'fail',
      message: `${message}. ${next}.`,
    }));
  });
}

function requestFor(object: UnknownObject, before: UnknownObject | undefined): AdmissionRequest {
  const [group = '', version = ''] = object.apiVersion.includes('/')
    ? object.apiVersion.split('/')
    : ['', object.apiVersion];
  return {
    uid: 'check',
    kind: { group, version, kind: object.kind },
    name: object.metadata.name,
    ...(object.metadata.namespace === undefined ? {} : { namespace: object.metadata.namespace }),
    object,
    ...(before === undefined ? { operation: 'CREATE' } : { operation: 'UPDATE', oldObject: before }),
    dryRun: true,
  };
}

/** The version is left out: an object is the same one in each of them. */
function identity(object: UnknownObject): string {
  return `${object.apiVersion.replace(/\/?[^/]*$/, '')} ${object.kind} ${formatKey(keyOf(object))}`;
}

function asText(results: readonly CheckResult[], objects: number): string {
  const failures = results.filter(({ result }) => result === 'fail');
  const skipped = results.filter(({ result }) => result === 'skip');
  const lines = failures.map(
    ({ policy, rule, resource, message }) =>
      `${resource.file}:${resource.line}: ${resource.kind} ${formatKey(resource)}: ${policy} (${rule}): ${message}`,
  );
  const judged = objects - skipped.length;
  const count = `${judged} of ${objects} objects judged, ${failures.length} violations`;
  return `${[...lines, skipped.length === 0 ? count : `${count}, ${skipped.length} that nothing looks at`].join('\n')}\n`;
}
