/** Reads chart values from a Secret. No error message quotes them. */
import type { Environment } from '../../../../api/index.ts';
import { FleetError } from '../../../../fleet/index.ts';
import { type Client, isNotFound, type UnknownObject } from '../../../../runtime/index.ts';
import { parseYaml, coreSecrets as secrets } from '../../../../runtime/internal.ts';

/** The label of a Secret with chart values: the Operator that may use them. */
const operatorLabel = 'platform.company.com/values-for';

/**
 * Returns the values for all environments, then those for this one. The Secret must be labelled for this Operator, or
 * whoever starts a rollout could install any Secret of the platform in a place where they can read it. A missing Secret
 * and one without the label give the same error, so that the error does not reveal which Secrets exist.
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
    const wanted = `create it with the label ${operatorLabel}=${operator}`;
    throw new FleetError('chart/invalid', `Secret ${name} with values for Operator ${operator} not found: ${wanted}`);
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
    value = parseYaml(text);
  } catch {
    // The parser's message quotes the text.
    throw new FleetError('chart/invalid', `${where} is not valid YAML`);
  }
  if (value === null || value === undefined) return {};
  if (typeof value !== 'object' || Array.isArray(value)) {
    throw new FleetError('chart/invalid', `${where} is not a YAML mapping`);
  }
  return value as Readonly<Record<string, unknown>>;
}
