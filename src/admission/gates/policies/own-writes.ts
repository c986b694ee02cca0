/**
 * Exempts writes that the platform needs in order to enforce policies: no policy may prevent it from reporting errors
 * or holding its leader Lease, or be evaluated for the platform's own access reviews.
 */
import { GROUP } from '../../../api/index.ts';
import type { AdmissionRequest } from '../../review/decode.ts';

interface Written {
  readonly group: string;
  /** The resource. If omitted, any resource. */
  readonly resource?: string;
  /** The subresource. If omitted, only the resource itself. */
  readonly subresource?: string;
}

/** The exempt writes. Webhook configurations are not listed: an API server calls no webhook for them. */
const written: readonly Written[] = [
  { group: GROUP, subresource: 'status' },
  { group: 'openreports.io' },
  { group: 'wgpolicyk8s.io' },
  { group: 'coordination.k8s.io', resource: 'leases' },
  { group: 'events.k8s.io', resource: 'events' },
  { group: '', resource: 'events' },
  { group: 'authorization.k8s.io', resource: 'subjectaccessreviews' },
];

/** `isOwnWrite` reports whether the request is an exempt write of one of the platform's own `users`. */
export function isOwnWrite(request: AdmissionRequest, users: readonly string[]): boolean {
  const { userInfo, resource, kind, subResource = '' } = request;
  if (userInfo?.username === undefined || !users.includes(userInfo.username)) return false;
  const group = (resource ?? kind).group;
  return written.some(
    (each) =>
      each.group === group &&
      (each.resource === undefined || each.resource === resource?.resource) &&
      (each.subresource ?? '') === subResource,
  );
}
