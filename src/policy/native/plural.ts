/**
 * The resource of a kind where nobody has said it: native policies name resources (`pods`), manifests kinds (`Pod`).
 * The rule is the one that Kubernetes itself guesses by; the exceptions are all that its own kinds make of it.
 */

const EXCEPTIONS: Readonly<Record<string, string>> = {
  Endpoints: 'endpoints',
  PodMetrics: 'pods',
  NodeMetrics: 'nodes',
};

/** Lower case, with the plural of English as far as names of kinds go. */
export function pluralOf(kind: string): string {
  const exception = Object.hasOwn(EXCEPTIONS, kind) ? EXCEPTIONS[kind] : undefined;
  if (exception !== undefined) return exception;
  const singular = kind.toLowerCase();
  if (/(?:s|x|z|ch|sh)$/.test(singular)) return `${singular}es`;
  if (/[^aeiou]y$/.test(singular)) return `${singular.slice(0, -1)}ies`;
  return `${singular}s`;
}
