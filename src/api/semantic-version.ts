/** Versions of our kinds (`semanticVersion`) are written with or without a `v`: both name the same. */

export const withoutV = (version: string): string => version.replace(/^v(?=\d)/, '');

/** `v1.2.0` and `1.2.0` name the same. */
export const sameVersion = (one: string, other: string): boolean => withoutV(one) === withoutV(other);
