/** Generates credentials, keeps them across deployments, and decides when they are rotated. */
import { createHash, randomInt } from 'node:crypto';
import type { UnknownObject } from '../../../runtime/index.ts';
import { ROTATED_ANNOTATION, ROTATION_ANNOTATION } from './names.ts';

export type Alphabet = 'alphanumeric' | 'hex' | 'base64' | 'printable';

const letters = 'abcdefghijklmnopqrstuvwxyz';
const alphanumeric = `${letters}${letters.toUpperCase()}0123456789`;
const alphabets: Readonly<Record<Alphabet, string>> = {
  alphanumeric,
  hex: '0123456789abcdef',
  base64: `${alphanumeric}+/`,
  printable: `${alphanumeric}!#$%&()*+,-./:;<=>?@[]^_{|}~`,
};

export function generateValue(length = 32, alphabet: Alphabet = 'alphanumeric'): string {
  const characters = alphabets[alphabet];
  return Array.from({ length }, () => characters[randomInt(characters.length)]).join('');
}

/** A revision that changes with any of the values, and reveals nothing about them. */
export function revisionOf(values: Readonly<Record<string, string>>): string {
  const entries = Object.entries(values).sort(([a], [b]) => (a < b ? -1 : 1));
  return createHash('sha256').update(JSON.stringify(entries)).digest('hex').slice(0, 16);
}

/** The fields of a Kubernetes Secret that are read here. */
export interface SecretObject extends UnknownObject {
  data?: Record<string, string>;
  type?: string;
}

export function valuesOf(secret: SecretObject | undefined): Record<string, string> {
  return Object.fromEntries(
    Object.entries(secret?.data ?? {}).map(([key, value]) => [key, Buffer.from(value, 'base64').toString('utf8')]),
  );
}

export const encodeValues = (values: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(values).map(([key, value]) => [key, Buffer.from(value, 'utf8').toString('base64')]),
  );

interface Rotation {
  readonly rotationDays: number | undefined;
  /** The value of the label that requests a rotation. */
  readonly asked: string | undefined;
}

const day = 86_400_000;

/** Milliseconds until the credentials must be rotated: 0 or less is now, undefined is never. */
export function rotationDue(
  secret: SecretObject | undefined,
  { rotationDays, asked }: Rotation,
  now: number,
): number | undefined {
  if (secret === undefined) return 0;
  const { annotations = {} } = secret.metadata;
  if (asked !== undefined && annotations[ROTATION_ANNOTATION] !== asked) return 0;
  if (rotationDays === undefined) return undefined;
  const rotated = Date.parse(annotations[ROTATED_ANNOTATION] ?? secret.metadata.creationTimestamp ?? '');
  return (Number.isNaN(rotated) ? now : rotated) + rotationDays * day - now;
}

/** The annotations of the last rotation: the existing ones, unless the values are new. */
export function rotationAnnotations(
  secret: SecretObject | undefined,
  rotation: Rotation,
  isNew: boolean,
  now: number,
): Record<string, string> {
  const before = secret?.metadata.annotations ?? {};
  const rotatedAt = isNew ? new Date(now).toISOString() : before[ROTATED_ANNOTATION];
  const asked = isNew ? rotation.asked : before[ROTATION_ANNOTATION];
  return {
    ...(rotatedAt === undefined ? {} : { [ROTATED_ANNOTATION]: rotatedAt }),
    ...(asked === undefined ? {} : { [ROTATION_ANNOTATION]: asked }),
  };
}
