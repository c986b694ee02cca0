/** Converts a ClusterPolicy of Kyverno: each rule that validates in CEL becomes a Policy. */
import { API_VERSION } from '../../api/index.ts';
import type { Json } from '../request.ts';
import type { LabelSelector } from '../world.ts';
import type { Kinds } from './kinds.ts';
import { compact, objectIn, objectsIn, type SourceNotes, textIn, textsIn } from './notes.ts';
import { all, any, groupsHave, labelsFit, NAME, NAMESPACE, not, oneOf, operationsAre, usersAre } from './predicates.ts';

const OPERATIONS = ['CREATE', 'UPDATE'];

export function policiesFromClusterPolicy(object: Json, kinds: Kinds, notes: SourceNotes): readonly Json[] {
  const spec = objectIn(object.spec);
  const rules = objectsIn(spec.rules).map((rule, index) => ({ rule, path: `spec.rules[${index}]` }));
  const name = String(objectIn(object.metadata).name);
  const convertible = rules.filter(({ rule, path }) => {
    if (objectIn(rule.validate).cel !== undefined) return true;
    const what = ['validate', 'mutate', 'generate', 'verifyImages'].find((each) => rule[each] !== undefined) ?? 'rule';
    const how = what === 'validate' ? `validate.${Object.keys(objectIn(rule.validate)).join(', validate.')}` : what;
    notes.refused(path, `the rule ${String(rule.name)} uses ${how}: only validate.cel can be converted`);
    return false;
  });
  return convertible.map(({ rule, path }) =>
    policyOf(rule, {
      path,
      spec,
      kinds,
      notes,
      name: rules.length === 1 ? name : `${name}-${String(rule.name)}`,
      description: textIn(objectIn(objectIn(object.metadata).annotations)['policies.kyverno.io/description']),
      namespace: object.kind === 'Policy' ? textIn(objectIn(object.metadata).namespace) : undefined,
    }),
  );
}

interface Context {
  readonly path: string;
  readonly spec: Json;
  readonly kinds: Kinds;
  readonly notes: SourceNotes;
  readonly name: string;
  readonly description: string | undefined;
  readonly namespace: string | undefined;
}

function policyOf(rule: Json, context: Context): Json {
  const { notes, path, spec } = context;
  const validate = objectIn(rule.validate);
  const cel = objectIn(validate.cel);
  const matched = blocks(objectIn(rule.match), `${path}.match`, notes);
  const excluded = blocks(objectIn(rule.exclude), `${path}.exclude`, notes);
  const types = [...new Set(matched.flatMap((block) => resourceTypesOf(block, context)))];
  const action = textIn(validate.failureAction) ?? textIn(spec.validationFailureAction) ?? 'Audit';
  const operations = [...new Set(matched.flatMap((block) => operationsOf(block)))];
  // Most policies have one block with kinds and operations only, which needs no expression.
  const simple = matched.every((block) =>
    Object.keys(block).every((each) => each === 'kinds' || each === 'operations'),
  );
  const conditions = [
    ...(simple ? [] : [{ name: 'match', expression: any(...matched.map((block) => blockExpression(block, context))) }]),
    ...(excluded.length === 0
      ? []
      : [{ name: 'exclude', expression: not(any(...excluded.map((block) => blockExpression(block, context)))) }]),
    ...objectsIn(rule.celPreconditions).map(({ name, expression }) => ({ name, expression })),
  ];
  for (const field of ['preconditions', 'context', 'skipBackgroundRequests']) {
    if (rule[field] !== undefined) notes.lost(`${path}.${field}`, 'has no equivalent');
  }
  const paramKind = objectIn(cel.paramKind);
  const paramRef = objectIn(cel.paramRef);
  return {
    apiVersion: API_VERSION,
    kind: 'Policy',
    metadata: { name: context.name.toLowerCase().replace(/[^a-z0-9.-]+/g, '-') },
    spec: compact({
      description: context.description,
      selector: compact({
        resourceTypes: types,
        operations,
        namespaces: context.namespace === undefined ? [] : [context.namespace],
        includeSystemNamespaces: true,
      }),
      matchConditions: conditions,
      params:
        paramKind.kind === undefined
          ? undefined
          : { parameterNotFoundAction: 'Allow', ...paramRef, apiVersion: paramKind.apiVersion, kind: paramKind.kind },
      variables: objectsIn(cel.variables).map(({ name, expression }) => ({ name, expression })),
      failurePolicy: textIn(spec.failurePolicy) ?? 'Fail',
      rules: rulesOf(rule, cel, validate, /^enforce$/i.test(action) ? 'Deny' : 'Audit'),
    }),
  };
}

function rulesOf(rule: Json, cel: Json, validate: Json, enforcement: string): readonly Json[] {
  const annotations = objectsIn(cel.auditAnnotations).map(({ key, valueExpression }) => ({ key, valueExpression }));
  const expressions = objectsIn(cel.expressions);
  return expressions.map((each, index) =>
    compact({
      name: expressions.length === 1 ? String(rule.name) : `${String(rule.name)}-${index + 1}`,
      expression: each.expression,
      message: textIn(each.message) ?? textIn(validate.message),
      messageExpression: textIn(each.messageExpression),
      reason: textIn(each.reason),
      enforcement,
      auditAnnotations: index === 0 ? annotations : [],
    }),
  );
}

/** Returns the blocks of which any must match; the blocks of `all` are merged into one. */
function blocks(match: Json, path: string, notes: SourceNotes): readonly Json[] {
  const flat = (block: Json): Json => ({
    ...objectIn(block.resources),
    ...compact({ subjects: block.subjects, roles: block.roles, clusterRoles: block.clusterRoles }),
  });
  if (match.all !== undefined) return [Object.assign({}, ...objectsIn(match.all).map(flat))];
  if (match.any !== undefined) return objectsIn(match.any).map(flat);
  if (Object.keys(match).length === 0) return [];
  notes.lost(path, 'match without any or all is treated as any');
  return [flat(match)];
}

const operationsOf = (block: Json): readonly string[] => {
  const written = textsIn(block.operations);
  return written.length === 0 ? OPERATIONS : written;
};

/** Converts `Pod`, `v1/Pod`, `apps/v1/Deployment` and `Pod/exec`, with `*` for any part. */
function resourceTypesOf(block: Json, { kinds, notes, path }: Context): readonly string[] {
  const written = textsIn(block.kinds);
  if (written.length === 0)
    notes.lost(
      `${path}.match`,
      'names no kinds and matches everything: `*` in a Policy excludes Events, Leases and access reviews',
    );
  return (written.length === 0 ? ['*'] : written).map((text) => typeOf(text, kinds));
}

function typeOf(text: string, kinds: Kinds): string {
  const parts = text.split('/');
  const place = parts.findIndex((part) => /^[A-Z]/.test(part));
  if (place < 0) return text.includes('/') ? `${parts.join('/')}` : '*';
  const kind = parts[place] ?? '*';
  const [group, version] = place === 0 ? [undefined, '*'] : place === 1 ? ['', parts[0]] : [parts[0], parts[1]];
  const known = kinds.ofKind(group === undefined ? '*' : group, kind);
  const of = group ?? known?.group ?? '*';
  const subresource = parts.slice(place + 1);
  return [of === '' ? 'core' : of, version ?? '*', kind, ...subresource].join('/');
}

function blockExpression(block: Json, context: Context): string {
  const { notes, path, kinds } = context;
  const terms: string[] = [];
  const types = textsIn(block.kinds).map((text) => typeOf(text, kinds).split('/'));
  if (types.length > 0) {
    terms.push(
      any(
        ...types.map(([group = '*', , kind = '*', subresource = '']) =>
          all(
            ...(group === '*' ? [] : [oneOf('request.kind.group', [group === 'core' ? '' : group])]),
            ...(kind === '*' ? [] : [oneOf('request.kind.kind', [kind])]),
            ...(subresource === '' || subresource === '*'
              ? []
              : [`request.?subResource.orValue('') == '${subresource}'`]),
          ),
        ),
      ),
    );
  }
  if (textsIn(block.operations).length > 0) terms.push(operationsAre(textsIn(block.operations)));
  const names = [...textsIn(block.names), ...(textIn(block.name) === undefined ? [] : [String(block.name)])];
  if (names.length > 0) terms.push(oneOf(NAME, names));
  if (textsIn(block.namespaces).length > 0) terms.push(oneOf(NAMESPACE, textsIn(block.namespaces)));
  if (block.selector !== undefined) terms.push(labelsFit(block.selector as LabelSelector));
  for (const field of ['annotations', 'namespaceSelector', 'roles', 'clusterRoles']) {
    if (block[field] !== undefined)
      notes.lost(`${path}.match`, `${field} has no equivalent in an expression and is ignored`);
  }
  const subjects = objectsIn(block.subjects);
  const named = (kind: string): readonly string[] =>
    subjects.filter((each) => each.kind === kind).map((each) => String(each.name));
  const accounts = subjects
    .filter((each) => each.kind === 'ServiceAccount')
    .map((each) => `system:serviceaccount:${String(each.namespace)}:${String(each.name)}`);
  const users = [...named('User'), ...accounts];
  const who = [
    ...(users.length === 0 ? [] : [usersAre(users)]),
    ...(named('Group').length === 0 ? [] : [groupsHave(named('Group'))]),
  ];
  if (who.length > 0) terms.push(any(...who));
  return all(...terms);
}
