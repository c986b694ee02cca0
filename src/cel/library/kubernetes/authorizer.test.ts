import { describe, expect, it } from 'vitest';
import { CelError, type Value } from '../../values.ts';
import { caller, costOf } from '../support/overloads.ts';
import {
  type AuthorizationAnswer,
  type AuthorizationAttributes,
  Authorizer,
  authorization,
  ResourceCheck,
} from './authorizer.ts';

const call = caller(authorization);

/** A host that answers always the same, and what it was asked. */
function host(answer: AuthorizationAnswer = { allowed: true }): {
  asked: AuthorizationAttributes[];
  authorizer: Authorizer;
} {
  const asked: AuthorizationAttributes[] = [];
  const decide = (attributes: AuthorizationAttributes): AuthorizationAnswer => {
    asked.push(attributes);
    return answer;
  };
  return { asked, authorizer: new Authorizer({ decide }) };
}

describe('the attributes that the host receives', () => {
  it('are a path and a verb', () => {
    const { asked, authorizer } = host();
    call('pathcheck_check', call('authorizer_path', authorizer, '/healthz') as Value, 'get');
    expect(asked).toEqual([{ kind: 'path', subject: 'requester', verb: 'get', path: '/healthz' }]);
  });

  it('contain all properties of a resource', () => {
    const { asked, authorizer } = host();
    let check = call('groupcheck_resource', call('authorizer_group', authorizer, 'apps') as Value, 'deployments');
    for (const [id, text] of [
      ['resourcecheck_subresource', 'scale'],
      ['resourcecheck_namespace', 'test'],
      ['resourcecheck_name', 'backend'],
      ['authorizer_fieldselector', 'metadata.name=backend'],
      ['authorizer_labelselector', 'app in (a, b)'],
    ] as const) {
      check = call(id, check as Value, text);
    }
    call('resourcecheck_check', check as Value, 'patch');
    expect(asked).toEqual([
      {
        kind: 'resource',
        subject: 'requester',
        verb: 'patch',
        group: 'apps',
        resource: 'deployments',
        subresource: 'scale',
        namespace: 'test',
        name: 'backend',
        fieldSelector: 'metadata.name=backend',
        labelSelector: 'app in (a, b)',
      },
    ]);
  });

  it('contain the service account if the expression names one', () => {
    const { asked, authorizer } = host();
    const account = call('authorizer_serviceaccount', authorizer, 'default', 'robot') as Authorizer;
    call('pathcheck_check', call('authorizer_path', account, '/') as Value, 'get');
    expect(asked[0]?.subject).toEqual({ namespace: 'default', name: 'robot' });
  });

  it('contain the resource of the request for requestResource', () => {
    const { asked, authorizer } = host();
    call('resourcecheck_check', new ResourceCheck(authorizer, { group: '', resource: 'pods', name: 'web' }), 'get');
    expect(asked[0]).toMatchObject({ group: '', resource: 'pods', name: 'web', namespace: '' });
  });
});

describe('invalid checks', () => {
  it.each([
    { id: 'authorizer_path', args: ['  '], reason: 'an empty path' },
    { id: 'authorizer_serviceaccount', args: ['not@valid', 'name'], reason: 'a namespace that is no label' },
    { id: 'authorizer_serviceaccount', args: ['default', 'Invalid'], reason: 'a name that is no subdomain' },
  ])('$reason', ({ id, args }) => {
    expect(call(id, host().authorizer, ...args)).toMatchObject({ code: 'invalid_argument' });
  });

  it('reject an empty resource', () => {
    const group = call('authorizer_group', host().authorizer, '') as Value;
    expect(call('groupcheck_resource', group, '')).toBeInstanceOf(CelError);
  });
});

it.each([
  { answer: { allowed: true }, is: [true, '', false, ''], reason: 'allowed' },
  { answer: { allowed: false, reason: 'no rule' }, is: [false, 'no rule', false, ''], reason: 'denied' },
  { answer: { allowed: false, error: 'timeout' }, is: [false, '', true, 'timeout'], reason: 'not known' },
])('decision: $reason', ({ answer, is }) => {
  const path = call('authorizer_path', host(answer).authorizer, '/') as Value;
  const decision = call('pathcheck_check', path, 'get') as Value;
  expect(['allowed', 'reason', 'errored', 'error'].map((part) => call(`decision_${part}`, decision))).toEqual(is);
});

it('cannot be compared, not even with itself', () => {
  const { authorizer } = host();
  expect(authorizer.equalsOrError()).toMatchObject({ code: 'no_such_overload' });
  expect(authorizer.equals(authorizer)).toBe(false);
});

it('limits an expression to two checks', () => {
  const path = call('authorizer_path', host().authorizer, '/') as Value;
  expect(costOf([authorization], 'pathcheck_check', path, 'get')).toBe(350_000);
  const check = new ResourceCheck(host().authorizer, { group: '', resource: 'pods' });
  expect(costOf([authorization], 'resourcecheck_name', check, 'web')).toBe(1);
  expect(costOf([authorization], 'authorizer_labelselector', check, 'app=web')).toBe(10 + 1 + 200);
});
