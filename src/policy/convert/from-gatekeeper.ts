/** Converts Gatekeeper's ConstraintTemplates in CEL, each with its Constraints, to Policies. */
import { API_VERSION } from '../../api/index.ts';
import type { Json } from '../request.ts';
import type { Kinds } from './kinds.ts';
import { compact, type Notes, objectIn, objectsIn, type SourceNotes, textIn, textsIn } from './notes.ts';
import { isNamespaced, jsonLiteral, not } from './predicates.ts';

const ENGINE = 'K8sNativeValidation';
const ENFORCEMENT: Readonly<Record<string, string>> = { deny: 'Deny', warn: 'Warn', dryrun: 'Audit' };

export const isTemplate = (object: Json): boolean =>
  object.kind === 'ConstraintTemplate' && String(object.apiVersion).startsWith('templates.gatekeeper.sh/');

export const isConstraint = (object: Json): boolean =>
  String(object.apiVersion).startsWith('constraints.gatekeeper.sh/');

/** `policiesFromGatekeeper` returns one Policy per Constraint. */
export function policiesFromGatekeeper(objects: readonly Json[], kinds: Kinds, notes: Notes): readonly Json[] {
  const templates = objects.filter(isTemplate);
  const constraints = objects.filter(isConstraint);
  const policies: Json[] = [];
  for (const template of templates) {
    const about = notes.of(template);
    const source = sourceIn(template, about);
    const kind = textIn(objectIn(objectIn(objectIn(objectIn(template.spec).crd).spec).names).kind);
    const own = constraints.filter((constraint) => constraint.kind === kind);
    if (source === undefined) continue;
    if (own.length === 0) {
      about.lost('', `there is no ${kind ?? 'Constraint'} among the files, so the template enforces nothing: add one`);
    }
    for (const constraint of own) policies.push(policyOf(source, constraint, kinds, notes.of(constraint)));
  }
  const known = new Set(templates.map((each) => objectIn(objectIn(objectIn(objectIn(each.spec).crd).spec).names).kind));
  for (const constraint of constraints) {
    if (!known.has(constraint.kind)) notes.of(constraint).refused('', `no ConstraintTemplate for it among the files`);
  }
  return policies;
}

/** The part of a template that is written in CEL. */
function sourceIn(template: Json, notes: SourceNotes): Json | undefined {
  const targets = objectsIn(objectIn(template.spec).targets);
  const codes = targets.flatMap((target, index) =>
    objectsIn(target.code).map((code, position) => ({ code, path: `spec.targets[${index}].code[${position}]` })),
  );
  const native = codes.find(({ code }) => code.engine === ENGINE);
  if (native !== undefined) return objectIn(native.code.source);
  const rego = targets.some((target) => target.rego !== undefined) || codes.some(({ code }) => code.engine === 'Rego');
  notes.refused(
    'spec.targets',
    rego
      ? `it is written in Rego: only templates with the engine ${ENGINE} (CEL) can be converted`
      : `it has no code for engine ${ENGINE}`,
  );
  return undefined;
}

function policyOf(source: Json, constraint: Json, kinds: Kinds, notes: SourceNotes): Json {
  const spec = objectIn(constraint.spec);
  const match = objectIn(spec.match);
  const action = textIn(spec.enforcementAction) ?? 'deny';
  const enforcement = ENFORCEMENT[action];
  if (enforcement === undefined) notes.lost('spec.enforcementAction', `${action} has no equivalent and becomes Deny`);
  const { selector, conditions } = selectorOf(match, kinds, notes);
  const excludedNamespaces = textsIn(match.excludedNamespaces);
  for (const field of ['source', 'mutations'] as const) {
    if (match[field] !== undefined) notes.lost(`spec.match.${field}`, 'has no equivalent');
  }
  return {
    apiVersion: API_VERSION,
    kind: 'Policy',
    metadata: { name: objectIn(constraint.metadata).name },
    spec: {
      ...compact({
        selector,
        exclude: excludedNamespaces.length === 0 ? undefined : { namespaces: excludedNamespaces },
        matchConditions: [
          ...conditions,
          ...objectsIn(source.matchConditions).map(({ name, expression }) => ({ name, expression })),
        ],
        // Gatekeeper defines these two variables for its expressions.
        variables: [
          { name: 'anyObject', expression: 'object != null ? object : oldObject' },
          { name: 'params', expression: `dyn(${jsonLiteral(spec.parameters ?? null)})` },
          ...objectsIn(source.variables).map(({ name, expression }) => ({ name, expression })),
        ],
        failurePolicy: textIn(source.failurePolicy) ?? 'Fail',
        rules: objectsIn(source.validations).map((each, index) =>
          compact({
            name: `validation-${index + 1}`,
            expression: each.expression,
            message: textIn(each.message),
            messageExpression: textIn(each.messageExpression),
            enforcement: enforcement ?? 'Deny',
          }),
        ),
      }),
      ...(hasPods(selector) ? { podControllers: { kinds: [] } } : {}),
    },
  };
}

const hasPods = (selector: Json): boolean =>
  textsIn(selector.resourceTypes).some((type) => /^core\/[^/]+\/Pod$/.test(type));

function selectorOf(match: Json, kinds: Kinds, notes: SourceNotes): { selector: Json; conditions: readonly Json[] } {
  const resourceTypes = objectsIn(match.kinds).flatMap((each) =>
    orAny(textsIn(each.apiGroups)).flatMap((group) =>
      orAny(textsIn(each.kinds)).map((kind) => {
        const of = group === '*' && kind !== '*' ? (kinds.ofKind('*', kind)?.group ?? '*') : group;
        return `${of === '' ? 'core' : of}/*/${kind}`;
      }),
    ),
  );
  const labels = objectIn(match.labelSelector);
  const scope = textIn(match.scope) ?? '*';
  const name = textIn(match.name);
  const selector = compact({
    resourceTypes: resourceTypes.length === 0 ? ['*'] : [...new Set(resourceTypes)],
    matchLabels: labels.matchLabels,
    matchExpressions: labels.matchExpressions,
    namespaceSelector: match.namespaceSelector,
    namespaces: textsIn(match.namespaces),
    names: name === undefined ? [] : [name],
    includeSystemNamespaces: true,
  });
  if (resourceTypes.length === 0) {
    notes.lost(
      'spec.match.kinds',
      'is not set and matches everything: `*` in a Policy excludes Events, Leases and access reviews',
    );
  }
  if (scope === '*') return { selector, conditions: [] };
  const expression = scope === 'Namespaced' ? isNamespaced : not(isNamespaced);
  return { selector, conditions: [{ name: 'scope', expression }] };
}

const orAny = (values: readonly string[]): readonly string[] => (values.length === 0 ? ['*'] : values);
