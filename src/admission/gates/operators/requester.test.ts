import { describe, expect, test } from 'vitest';
import { REQUESTED_BY_ANNOTATION } from '../../../api/index.ts';
import { applyJsonPatch } from '../../../policy/internal.ts';
import type { AdmissionRequest, Json } from '../../review/decode.ts';
import { noFacts } from '../gate.ts';
import { requesterGate, stampRequester } from './requester.ts';

const saying = (requester?: string, others: object = {}): Json => ({
  metadata: { name: 'one', annotations: { ...others, ...(requester && { [REQUESTED_BY_ANNOTATION]: requester }) } },
});
const requestOf = (user: string, object: Json, oldObject?: Json, kind = 'OperatorDeployment'): AdmissionRequest =>
  ({
    kind: { group: 'platform.company.com', version: 'v1', kind },
    operation: oldObject === undefined ? 'CREATE' : 'UPDATE',
    userInfo: { username: user },
    object,
    oldObject,
  }) as AdmissionRequest;

const codes = (request: AdmissionRequest) =>
  requesterGate.evaluate(request, noFacts).violations.map(({ code }) => code);

describe('who asked for a rollout', () => {
  test.each([
    { reason: 'is who creates it', request: requestOf('ada', { metadata: { name: 'one' } }), by: 'ada' },
    {
      reason: 'is stored without control characters, and is nobody else without them',
      request: requestOf('ada\u200b\nroot', saying('ada')),
      by: 'ada\\u200b\\u000aroot',
    },
    { reason: 'is nobody that the manifest makes up', request: requestOf('ada', saying('grace')), by: 'ada' },
    {
      reason: 'stands beside what else is written there',
      request: requestOf('ada', saying(undefined, { a: 'b' })),
      by: 'ada',
    },
    { reason: 'stays where somebody else changes it', request: requestOf('x', saying('x'), saying('ada')), by: 'ada' },
    { reason: 'stays where it is left out', request: requestOf('x', saying(), saying('ada')), by: 'ada' },
  ])('$reason', ({ request, by }) => {
    expect(codes(request)).toEqual(['RequesterMismatch']);
    const stamped = stampRequester(request);
    const patched = applyJsonPatch(request.object ?? {}, (stamped?.patches ?? []) as never);
    expect(patched).toMatchObject({ document: stamped?.object ?? {} });
    expect(stamped?.object.metadata).toMatchObject({ annotations: { [REQUESTED_BY_ANNOTATION]: by } });
    const after = { ...request, object: stamped?.object ?? {} };
    expect(stampRequester(after)).toBeUndefined();
    expect(codes(after)).toEqual([]);
  });

  test('cannot be written later where nobody was there to write it', () => {
    const request = requestOf('x', saying('x'), saying());
    expect(stampRequester(request)).toBeUndefined();
    expect(codes(request)).toEqual(['RequesterMismatch']);
    expect(codes(requestOf('x', saying(), saying()))).toEqual([]);
  });

  test('is nothing to any other kind', () => {
    const request = requestOf('ada', saying('grace'), undefined, 'Operator');
    expect(stampRequester(request)).toBeUndefined();
    expect(codes(request)).toEqual([]);
  });
});
