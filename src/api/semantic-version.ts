/** Comparison of versions (`semanticVersion`), which may be written with or without a leading `v`. */

export const withoutV = (version: string): string => version.replace(/^v(?=\d)/, '');

/** `sameVersion` reports whether two versions are equal: `v1.2.0` and `1.2.0` are. */
export const sameVersion = (one: string, other: string): boolean => withoutV(one) === withoutV(other);
