/** Values for a chart that are kept in a Secret, read without ever quoting them. */
import { parse } from 'yaml';
import type { Environment } from '../../../../api/index.ts';
import { FleetError } from '../../../../fleet/index.ts';
import { type Client, isNotFound, type UnknownObject } from '../../../../runtime/index.ts';
import { coreSecrets as secrets } from '../../../../runtime/internal.ts';

/** On a Secret with values: for which Operator they are. */
const operatorLabel = 'platform.company.com/values-for';

/**
 * Those for all environments, then those for this one. Only of a Secret that is meant for this Operator: or whoever starts a rollout could
 * have any Secret of the platform installed where they read it. One that is not there is told as one that is not meant for it, so that
 * nobody learns which there are.
 */
export async function secretValues(
  client: Pick<Client, 'get'>,
  key: { readonly namespace: string; readonly name: string },
  operator: string,
  environment: Environment,
): Promise<Readonly<Record<string, unknown>>[]> {
  const { name } = key;
  const found = await client.get<UnknownObject>(secrets, key).catch((error: unknown) => {
    if (!isNotFound(error)) throw error;
    return undefined;
  });
  if (found?.metadata.labels?.[operatorLabel] !== operator) {
    const wanted = `it has to have the label ${operatorLabel}=${operator}`;
    throw new FleetError('chart/invalid', `there is no Secret ${name} with values for ${operator}: ${wanted}`);
  }
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
