import { describe, expect, test } from 'vitest';
import { type Logger, silentLogger } from '../../runtime/index.ts';
import type { AdmissionRequest } from '../review/decode.ts';
import { logAdmitted } from './decision-log.ts';

const group = 'platform.company.com';
const ofGeneration = (generation: number) => ({ metadata: { name: 'users', uid: 'u', generation } });

function linesOf(more: Partial<AdmissionRequest>): unknown[] {
  const lines: unknown[] = [];
  const log: Logger = { ...silentLogger, info: (message, fields) => void lines.push({ message, ...fields }) };
  const request = {
    uid: 'review',
    operation: 'UPDATE',
    kind: { group, version: 'v1', kind: 'Database' },
    namespace: 'team',
    name: 'users',
    userInfo: { username: 'ada' },
    object: ofGeneration(2),
    oldObject: ofGeneration(1),
    ...more,
  } as unknown as AdmissionRequest;
  logAdmitted(request, log);
  return lines;
}

describe('a line of admission can be joined to the deployment that it leads to', () => {
  test.each([
    { reason: 'created', more: { operation: 'CREATE', object: ofGeneration(1), oldObject: undefined }, id: 'u/1/1' },
    { reason: 'changed', more: {}, id: 'u/2/1' },
    { reason: 'deleted', more: { operation: 'DELETE', object: undefined, oldObject: ofGeneration(2) }, id: 'u/3/1' },
  ] as const)('$reason', ({ more, id }) => {
    expect(linesOf(more as Partial<AdmissionRequest>)).toMatchObject([
      { message: 'admitted', uid: 'u', correlationId: id, review: 'review', user: 'ada', kind: 'Database' },
    ]);
  });

  test.each([
    { reason: 'no new generation', more: { object: ofGeneration(1) } },
    { reason: 'a status', more: { subResource: 'status' } },
    { reason: 'only tried', more: { dryRun: true } },
    { reason: 'nothing that a broker brings about', more: { kind: { group, version: 'v1', kind: 'Team' } } },
    { reason: 'of somebody else', more: { kind: { group: 'apps', version: 'v1', kind: 'Service' } } },
  ] as const)('and there is none: $reason', ({ more }) => {
    expect(linesOf(more as Partial<AdmissionRequest>)).toEqual([]);
  });
});
