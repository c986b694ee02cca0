/**
 * A digest of exactly one change: what an approval and the annotation `allow-breaking` name. It does not depend on metadata, status or
 * the order of keys, nor on what the API server fills in by itself, so that the file a user has and the object the webhook is shown agree.
 */
import { createHash } from 'node:crypto';
import { canonical, tidy } from './canonical.ts';
import type { Crd, CrdSpec } from './crd.ts';

export function changeDigest(before: Crd | undefined, after: Crd | undefined): string {
  return digestOfTidy(tidy(before), tidy(after));
}

/** Of definitions whose keys are in order. */
export function digestOfTidy(before: Crd | undefined, after: Crd | undefined): string {
  const hash = createHash('sha256');
  const name = (after ?? before)?.metadata.name;
  hash.update(`{"after":${specText(after)},"before":${specText(before)},"name":${canonical(name)}}`);
  return `sha256:${hash.digest('hex')}`;
}

/** The versions are nearly all of it, and are as they are in the definition. */
function specText(crd: Crd | undefined): string {
  if (crd === undefined) return 'null';
  const spec = asStored(crd.spec);
  const texts = Object.keys(spec)
    .sort()
    .map((key) => `${JSON.stringify(key)}:${key === 'versions' ? tidyText(spec[key]) : canonical(spec[key])}`);
  return `{${texts.join(',')}}`;
}

/** As `canonical`, of what is tidy: ten times as fast, but integers past 2^53 are beyond it. */
function tidyText(value: unknown): string {
  try {
    return JSON.stringify(value);
  } catch {
    return canonical(value);
  }
}

/** With the defaults of apiextensions.k8s.io/v1, and without fields that say what is so without them. */
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
