/** Converts the oracle's table of authorization decisions to values of the engine. */
import {
  type AuthorizationAnswer,
  type AuthorizationAttributes,
  Authorizer,
  ResourceCheck,
  type Value,
} from '../../../src/cel/index.ts';
import type { OracleAuthorizer, OracleRule } from '../../support/cel-oracle.ts';

/** Returns the variables `authorizer` and `authorizer.requestResource`. */
export function authorizerOf(table: OracleAuthorizer): Readonly<Record<string, Value>> {
  const authorizer = new Authorizer({ decide: (attributes) => decide(table, attributes) });
  const { group = '', resource = '', subresource = '', namespace = '', name = '' } = table.resource ?? {};
  const check = new ResourceCheck(authorizer, { group, resource, subresource, namespace, name });
  return { authorizer, 'authorizer.requestResource': check };
}

function decide(table: OracleAuthorizer, asked: AuthorizationAttributes): AuthorizationAnswer {
  const { subject } = asked;
  const user = subject === 'requester' ? table.user.name : `system:serviceaccount:${subject.namespace}:${subject.name}`;
  const rule = table.rules.find((each) => fits(each, user, asked));
  if (rule === undefined) return { allowed: false };
  return {
    allowed: rule.decision === 'allow',
    ...(rule.reason === undefined ? {} : { reason: rule.reason }),
    ...(rule.error === undefined ? {} : { error: rule.error }),
  };
}

function fits(rule: OracleRule, user: string, asked: AuthorizationAttributes): boolean {
  const same = (wanted: string | undefined, is: string) => wanted === undefined || wanted === is;
  if (!same(rule.user, user) || !same(rule.verb, asked.verb)) return false;
  if (asked.kind === 'path') return rule.path === asked.path;
  if (rule.path !== undefined) return false;
  return (
    same(rule.group, asked.group) &&
    same(rule.resource, asked.resource) &&
    same(rule.subresource, asked.subresource) &&
    same(rule.namespace, asked.namespace) &&
    same(rule.name, asked.name)
  );
}
