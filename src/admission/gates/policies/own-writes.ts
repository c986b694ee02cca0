/**
 * What the platform itself writes while it follows policies: no policy of a user may keep it from saying what is wrong, from leading,
 * or, asking who may do what, be asked about its own question.
 */
import { GROUP } from '../../../api/index.ts';
import type { AdmissionRequest } from '../../review/decode.ts';

interface Written {
  readonly group: string;
  /** Left out: any. */
  readonly resource?: string;
  /** Left out: only the resource itself. */
  readonly subresource?: string;
}

/** The configurations of webhooks are not among them: an API server asks no webhook about those. */
const written: readonly Written[] = [
  { group: GROUP, subresource: 'status' },
  { group: 'openreports.io' },
  { group: 'wgpolicyk8s.io' },
  { group: 'coordination.k8s.io', resource: 'leases' },
  { group: 'events.k8s.io', resource: 'events' },
  { group: '', resource: 'events' },
  { group: 'authorization.k8s.io', resource: 'subjectaccessreviews' },
];

/** `users`: who the platform is to the API server. */
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
