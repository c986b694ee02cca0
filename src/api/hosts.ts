/**
 * Host names and whose they are. A pattern is a name, or `*.` followed by a domain: then it stands for every name below
 * that domain, at any depth, and not for the domain itself.
 */
export function coversHost(pattern: string, host: string): boolean {
  return pattern === host || (pattern.startsWith('*.') && host.endsWith(pattern.slice(1)));
}

export const hostsOverlap = (one: string, other: string): boolean => coversHost(one, other) || coversHost(other, one);

/** The format of a host or a pattern. */
export const HOST_PATTERN = '^(\\*\\.)?[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$';
