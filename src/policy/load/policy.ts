/** Reads a Policy from a cluster or a file into the model that is compiled. */
import { kindNamed, kinds, type Policy, policy as policyKind } from '../../api/index.ts';
import { nearest } from '../../cel/internal.ts';
import { matchesType } from '../match/types.ts';
import type { ExpressionModel, MutationModel, PolicyIssue, PolicyModel, RuleModel } from '../model.ts';
import type { Json } from '../request.ts';
import { milliseconds } from './dates.ts';
import { type Envelope, openEnvelope } from './envelope.ts';
import { readMatch } from './match.ts';
import { readPodControllers } from './pod-controllers.ts';
import { readResourceType } from './resource-types.ts';

type Spec = Policy['spec'];
type Written<T> = { readonly [K in keyof T]?: T[K] };

/**
 * `readPolicy` validates a Policy object and returns its model, or the issues with their fields.
 *
 *     const { model, issues } = readPolicy(parseYaml(text));
 *     for (const { path, message } of issues) console.error(path, message);
 */
export function readPolicy(object: Json): { model?: PolicyModel; issues: PolicyIssue[] } {
  const envelope = openEnvelope(object, policyKind);
  if (envelope.issues.length > 0) return { issues: envelope.issues };
  const spec = envelope.spec as unknown as Spec;
  const issues = [...selfContradictions(spec, envelope.name)];
  if (issues.some(({ severity }) => severity === 'error')) return { issues };
  return { model: modelOf(spec, envelope), issues };
}

function modelOf(spec: Spec, { name, revision }: Envelope): PolicyModel {
  const podControllers = readPodControllers(spec.selector.resourceTypes, spec.podControllers);
  return {
    kind: 'Policy',
    name,
    revision,
    match: {
      ...readMatch(spec.selector),
      operations: spec.selector.operations ?? ['CREATE', 'UPDATE'],
      includeSystemNamespaces: spec.selector.includeSystemNamespaces ?? false,
    },
    ...(spec.exclude === undefined ? {} : { exclude: readMatch(spec.exclude) }),
    matchConditions: (spec.matchConditions ?? []).map((each, index) => ({
      name: each.name,
      ...expression(`spec.matchConditions[${index}].expression`, each.expression),
    })),
    ...(spec.params === undefined ? {} : { params: paramsOf(spec.params) }),
    context: spec.context ?? [],
    variables: (spec.variables ?? []).map((each, index) => ({
      name: each.name,
      ...expression(`spec.variables[${index}].expression`, each.expression),
    })),
    ...(podControllers === undefined ? {} : { podControllers }),
    failurePolicy: spec.failurePolicy ?? 'Fail',
    rules: (spec.rules ?? []).map(ruleOf),
    mutations: (spec.mutations ?? []).map(mutationOf),
    reinvocationPolicy: spec.reinvocationPolicy ?? 'Never',
    sensitivePaths: spec.sensitivePaths ?? [],
    tests: (spec.tests ?? []) as unknown as readonly Json[],
  };
}

const expression = (path: string, text: string): ExpressionModel => ({ path, text });

function paramsOf(params: NonNullable<Spec['params']>): NonNullable<PolicyModel['params']> {
  const { parameterNotFoundAction, ...same } = params;
  return { ...same, notFound: parameterNotFoundAction ?? 'Deny' };
}

function ruleOf(rule: NonNullable<Spec['rules']>[number], index: number): RuleModel {
  const path = `spec.rules[${index}]`;
  const { message, messageExpression, fieldPath, reason, category } = rule;
  return {
    name: rule.name,
    expression: expression(`${path}.expression`, rule.expression),
    ...(message === undefined ? {} : { message }),
    ...(messageExpression === undefined
      ? {}
      : { messageExpression: expression(`${path}.messageExpression`, messageExpression) }),
    ...(fieldPath === undefined ? {} : { fieldPath }),
    ...(reason === undefined ? {} : { reason }),
    severity: rule.severity ?? 'medium',
    ...(category === undefined ? {} : { category }),
    actions: [rule.enforcement ?? 'Deny'],
    ...(rule.enforceAfter === undefined ? {} : { enforceAfter: milliseconds(rule.enforceAfter) }),
    ratchet: rule.ratchet ?? false,
    exceptions: rule.exceptions ?? 'Allowed',
    auditAnnotations: (rule.auditAnnotations ?? []).map((each, position) => ({
      key: each.key,
      value: expression(`${path}.auditAnnotations[${position}].valueExpression`, each.valueExpression),
    })),
  };
}

function mutationOf(mutation: NonNullable<Spec['mutations']>[number], index: number): MutationModel {
  const field = mutation.patchType === 'JSONPatch' ? 'jsonPatch' : 'applyConfiguration';
  return {
    name: mutation.name ?? `mutations[${index}]`,
    patchType: mutation.patchType,
    expression: expression(`spec.mutations[${index}].${field}.expression`, mutation[field]?.expression ?? ''),
  };
}

/** Names of the language itself: a context variable must not hide them. */
const TAKEN = new Set(
  'object oldObject request params namespaceObject variables authorizer spec metadata status apiVersion kind'.split(
    ' ',
  ),
);

/** Subresources that support CONNECT only. */
const CONNECTED = /^core\/[^/]+\/(Pod|Service|Node)\/(exec|attach|portforward|proxy)$/;

/** A TokenReview contains the credentials of a user, which no message and no report may show. */
const tokenReview = {
  group: 'authentication.k8s.io',
  version: 'v1',
  kind: 'TokenReview',
  resource: 'tokenreviews',
  subresource: '',
};

/** Checks that a schema cannot express: reserved names, duplicate names and unknown kinds. */
function* selfContradictions(spec: Written<Spec>, policy: string): Iterable<PolicyIssue> {
  for (const [index, { name }] of (spec.context ?? []).entries()) {
    if (!TAKEN.has(name)) continue;
    const path = `spec.context[${index}].name`;
    const message = `${path}: \`${name}\` is reserved in expressions: choose another name`;
    yield { severity: 'error', code: 'name_taken', policy, path, message };
  }
  for (const [index, text] of (spec.selector?.resourceTypes ?? []).entries()) {
    if (text.includes('/') || text === '*' || kindNamed(text) !== undefined) continue;
    const near = nearest(
      text,
      kinds.map(({ kind }) => kind),
    );
    const hint =
      near === undefined
        ? 'write other kinds as group/version/Kind, for example apps/v1/Deployment'
        : `did you mean ${near}?`;
    const path = `spec.selector.resourceTypes[${index}]`;
    const message = `${path}: unknown kind ${text}: ${hint}`;
    yield { severity: 'warning', code: 'unknown_kind', policy, path, message };
  }
  for (const [index, text] of (spec.selector?.resourceTypes ?? []).entries()) {
    if (!matchesType({ ...readResourceType(text), equivalent: true }, tokenReview)) continue;
    const path = `spec.selector.resourceTypes[${index}]`;
    const message = `${path}: ${text} selects TokenReviews, which contain credentials of users: name other kinds`;
    yield { severity: 'error', code: 'selects_tokens', policy, path, message };
  }
  const connects = spec.selector?.operations?.includes('CONNECT') === true;
  for (const [index, text] of (spec.selector?.resourceTypes ?? []).entries()) {
    if (connects || !CONNECTED.test(text)) continue;
    const path = `spec.selector.resourceTypes[${index}]`;
    const message = `${path}: ${text} supports CONNECT only, so the policy never matches it: add CONNECT to spec.selector.operations`;
    yield { severity: 'warning', code: 'never_asked', policy, path, message };
  }
  if (spec.exclude !== undefined && Object.keys(spec.exclude).length === 0) {
    const path = 'spec.exclude';
    const message = `${path}: an empty exclusion excludes everything, so the policy matches nothing: set a field, or remove it`;
    yield { severity: 'warning', code: 'excludes_everything', policy, path, message };
  }
  const seen = new Set<string>();
  for (const [index, { name }] of (spec.variables ?? []).entries()) {
    const path = `spec.variables[${index}].name`;
    const message = `${path}: duplicate variable ${name}: choose another name`;
    if (seen.has(name)) yield { severity: 'error', code: 'duplicate', policy, path, message };
    seen.add(name);
  }
}
