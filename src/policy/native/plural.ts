/**
 * Guesses the resource of a kind: native policies name resources (`pods`), manifests name kinds (`Pod`). The rule is
 * that of Kubernetes; the exceptions cover all its own kinds.
 */

const EXCEPTIONS: Readonly<Record<string, string>> = {
  Endpoints: 'endpoints',
  PodMetrics: 'pods',
  NodeMetrics: 'nodes',
};

/** `pluralOf` returns the English plural of a kind in lower case. */
export function pluralOf(kind: string): string {
  const exception = Object.hasOwn(EXCEPTIONS, kind) ? EXCEPTIONS[kind] : undefined;
  if (exception !== undefined) return exception;
  const singular = kind.toLowerCase();
  if (/(?:s|x|z|ch|sh)$/.test(singular)) return `${singular}es`;
  if (/[^aeiou]y$/.test(singular)) return `${singular.slice(0, -1)}ies`;
  return `${singular}s`;
}
