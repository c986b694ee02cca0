/**
 * A digest of exactly one change: what an approval and the annotation `allow-breaking` name. It does not depend on metadata, status or
 * the order of keys, nor on what the API server fills in by itself, so that the file a user has and the object the webhook is shown agree.
 */
import { createHash } from 'node:crypto';
import { canonical } from './canonical.ts';
import type { Crd, CrdSpec } from './crd.ts';

export function changeDigest(before: Crd | undefined, after: Crd | undefined): string {
  const text = canonical({
    name: (after ?? before)?.metadata.name,
    before: before === undefined ? null : asStored(before.spec),
    after: after === undefined ? null : asStored(after.spec),
  });
  return `sha256:${createHash('sha256').update(text).digest('hex')}`;
}

/** With the defaults of apiextensions.k8s.io/v1, and without fields that say what is so without them. */
function asStored(spec: CrdSpec): unknown {
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
