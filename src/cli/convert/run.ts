/** `kidp convert`: policies of one system in, those of another out, and on the other stream what could not be carried over. */
import { type ConversionNote, type ConversionTarget, convertPolicies } from '../../policy/index.ts';
import type { Streams } from '../common/streams.ts';
import { safeYaml } from '../common/yaml.ts';
import { type LocatedObject, readObjects } from '../documents/index.ts';

export interface ConvertOptions {
  filename: string[];
  to: ConversionTarget;
  output: 'yaml' | 'json';
  strict?: boolean;
}

export interface ConvertStreams {
  out: Pick<Streams['out'], 'write'>;
  err: Pick<Streams['err'], 'write'>;
  in: NodeJS.ReadableStream;
}

export async function convert(options: ConvertOptions, streams: ConvertStreams): Promise<number> {
  const located = await readObjects(options.filename, streams.in);
  const { objects, notes } = convertPolicies(
    located.map(({ object }) => ({ ...object })),
    { to: options.to, now: Date.now() },
  );
  for (const note of notes) streams.err.write(`${describe(note, located)}\n`);
  if (objects.length === 0 && notes.length === 0) streams.err.write('no policy found in these files\n');
  if (options.output === 'json') streams.out.write(`${JSON.stringify(objects, undefined, 2)}\n`);
  else streams.out.write(objects.map((object) => safeYaml(object, { lineWidth: 0 })).join('---\n'));
  const failed = notes.some(({ severity }) => severity === 'error') || (options.strict === true && notes.length > 0);
  return failed ? 1 : 0;
}

/** `policies/x.yaml:7:3: warning: Policy/x: spec.rules[0].ratchet: has no counterpart …` */
function describe({ severity, source, path, message }: ConversionNote, located: readonly LocatedObject[]): string {
  const from = located.find(({ object }) => `${object.kind}/${object.metadata.name}` === source);
  const parts = [severity, source, path, message];
  if (from !== undefined) {
    const { line, column } = from.place(path);
    parts.unshift(`${from.file}:${line}:${column}`);
  }
  return parts.filter((part) => part !== '').join(': ');
}
