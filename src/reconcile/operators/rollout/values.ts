/** Values for a chart that are kept in a Secret, read without ever quoting them. */
import { parse } from 'yaml';
import type { Environment } from '../../../api/index.ts';
import { FleetError } from '../../../fleet/index.ts';
import { type Client, isNotFound, coreSecrets as secrets, type UnknownObject } from '../../../runtime/index.ts';

/** Those for all environments, then those for this one. */
export async function secretValues(
  client: Client,
  namespace: string,
  name: string,
  environment: Environment,
): Promise<Readonly<Record<string, unknown>>[]> {
  const found = await client.get<UnknownObject>(secrets, { namespace, name }).catch((error: unknown) => {
    if (!isNotFound(error)) throw error;
    throw new FleetError('chart/invalid', `there is no Secret ${name} with values in the namespace of the platform`);
  });
  const data = (found.data ?? {}) as Readonly<Record<string, string>>;
  return ['values.yaml', `${environment}.yaml`].flatMap((key) => {
    const encoded = data[key];
    return encoded === undefined ? [] : [read(Buffer.from(encoded, 'base64').toString('utf8'), `${name}/${key}`)];
  });
}

function read(text: string, where: string): Readonly<Record<string, unknown>> {
  let value: unknown;
  try {
    value = parse(text, { maxAliasCount: 100 });
  } catch {
    // What the parser says quotes what it has read.
    throw new FleetError('chart/invalid', `${where} is no YAML`);
  }
  if (value === null || value === undefined) return {};
  if (typeof value !== 'object' || Array.isArray(value)) {
    throw new FleetError('chart/invalid', `${where} is no mapping of values`);
  }
  return value as Readonly<Record<string, unknown>>;
}
