/** Resource types as written in a Policy: `Database`, `apps/v1/Deployment`, `core/v1/Pod/exec`, `*`. */
import { GROUP } from '../../api/index.ts';
import type { TypeMatch } from '../model.ts';

/** `readResourceType` parses a type; the schema guarantees its form. */
export function readResourceType(text: string): TypeMatch {
  if (text === '*') return { group: '*', version: '*', kind: '*', sparing: true };
  const [group = '', version = '*', kind = '*', ...subresource] = text.split('/');
  // A bare kind is a kind of the platform, in any version.
  if (!text.includes('/')) return { group: GROUP, version: '*', kind: text };
  return {
    group: group === 'core' ? '' : group,
    version,
    kind,
    ...(subresource.length > 0 ? { subresource: subresource.join('/') } : {}),
    // An explicit group matches everything in it; `*` excludes Events, Leases and access reviews.
    ...(kind === '*' && (group === 'core' || group.includes('*')) ? { sparing: true } : {}),
  };
}

/** `resourceTypeText` writes a type as in a selector. */
export function resourceTypeText({ group, version, kind, resource, subresource }: TypeMatch): string {
  const type = `${group === '' ? 'core' : group}/${version}/${kind ?? resource ?? '*'}`;
  return subresource === undefined ? type : `${type}/${subresource}`;
}
