/** `Database`, `apps/v1/Deployment`, `core/v1/Pod/exec`, `*`: the types of resources as our policies write them. */
import { GROUP } from '../../api/index.ts';
import type { TypeMatch } from '../model.ts';

/** The text has the form that the schema says. */
export function readResourceType(text: string): TypeMatch {
  if (text === '*') return { group: '*', version: '*', kind: '*', sparing: true };
  const [group = '', version = '*', kind = '*', ...subresource] = text.split('/');
  // A bare kind is one of the platform, of whatever version.
  if (!text.includes('/')) return { group: GROUP, version: '*', kind: text };
  return {
    group: group === 'core' ? '' : group,
    version,
    kind,
    ...(subresource.length > 0 ? { subresource: subresource.join('/') } : {}),
    // Who names a group in full means that group; who writes `*` does not mean what happens every second.
    ...(kind === '*' && (group === 'core' || group.includes('*')) ? { sparing: true } : {}),
  };
}

/** As it would be written. */
export function resourceTypeText({ group, version, kind, resource, subresource }: TypeMatch): string {
  const type = `${group === '' ? 'core' : group}/${version}/${kind ?? resource ?? '*'}`;
  return subresource === undefined ? type : `${type}/${subresource}`;
}
