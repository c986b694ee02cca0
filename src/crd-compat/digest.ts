/**
 * The digest of exactly one change, which an approval and the annotation `allow-breaking` name. It does not depend on
 * metadata, status or the order of keys, nor on values that the API server fills in, so that the user's file and the
 * object in the webhook's request have the same digest.
 */
import { createHash } from 'node:crypto';
import { canonical, tidy } from './canonical.ts';
import type { Crd, CrdSpec } from './crd.ts';
import { isObject } from './json.ts';

export function changeDigest(before: Crd | undefined, after: Crd | undefined): string {
  return digestOfTidy(tidy(before), tidy(after));
}

/** Computes the digest of two tidy definitions. Parts that they share are serialized once. */
export function digestOfTidy(before: Crd | undefined, after: Crd | undefined): string {
  const name = (after ?? before)?.metadata.name;
  const versions = tidyTexts(before?.spec.versions, after?.spec.versions);
  const hash = createHash('sha256');
  hash.update('{"after":');
  hash.update(specText(after, versions[1]));
  hash.update(',"before":');
  hash.update(specText(before, versions[0]));
  hash.update(`,"name":${canonical(name)}}`);
  return `sha256:${hash.digest('hex')}`;
}

/** Serializes a spec. Its versions, which are nearly all of it, are serialized by the caller. */
function specText(crd: Crd | undefined, versions: string): string {
  if (crd === undefined) return 'null';
  const spec = asStored(crd.spec);
  const texts = Object.keys(spec)
    .sort()
    .map((key) => `${JSON.stringify(key)}:${key === 'versions' ? versions : canonical(spec[key])}`);
  return `{${texts.join(',')}}`;
}

/**
 * The depth down to which shared parts are looked for: the fields of a version's schema and their fields. Further down
 * the search takes longer than serializing the parts twice.
 */
const DEEPEST = 8;

/** Serializes two tidy values the way `canonical` does. */
function tidyTexts(one: unknown, other: unknown, depth = 0): readonly [string, string] {
  if (one === other) {
    const text = tidyText(one);
    return [text, text];
  }
  if (Array.isArray(one) && Array.isArray(other) && one.length === other.length) {
    const texts = one.map((item, index) => tidyTexts(item, other[index], depth + 1));
    return [`[${texts.map(([text]) => text).join(',')}]`, `[${texts.map(([, text]) => text).join(',')}]`];
  }
  if (depth >= DEEPEST || !isObject(one) || !isObject(other)) return [tidyText(one), tidyText(other)];
  const shared = new Map<string, readonly [string, string]>();
  for (const key in one) if (Object.hasOwn(other, key)) shared.set(key, tidyTexts(one[key], other[key], depth + 1));
  const whole = (value: Readonly<Record<string, unknown>>, side: 0 | 1): string => {
    let text = '';
    for (const key in value) {
      if (value[key] === undefined) continue;
      text += `${text === '' ? '' : ','}${JSON.stringify(key)}:${shared.get(key)?.[side] ?? tidyText(value[key])}`;
    }
    return `{${text}}`;
  };
  return [whole(one, 0), whole(other, 1)];
}

/** Ten times as fast as `canonical`, which takes over for integers beyond 2^53. */
function tidyText(value: unknown): string {
  try {
    return JSON.stringify(value) ?? 'null';
  } catch {
    return canonical(value);
  }
}

/**
 * The spec as the API server stores it: with the defaults of apiextensions.k8s.io/v1, and without fields that only
 * repeat a default.
 */
function asStored(spec: CrdSpec): Readonly<Record<string, unknown>> {
  const { preserveUnknownFields, names, conversion, versions, ...rest } = spec;
  return {
    ...rest,
    ...(preserveUnknownFields === true ? { preserveUnknownFields } : {}),
    names: {
      ...names,
      singular: names.singular ?? names.kind.toLowerCase(),
      listKind: names.listKind ?? `${names.kind}List`,
    },
    conversion: { ...conversion, strategy: conversion?.strategy ?? 'None' },
    versions,
  };
}
