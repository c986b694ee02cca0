/** Converts the model of a native policy to a manifest of a Policy. */
import { API_VERSION } from '../../api/index.ts';
import type { MatchModel, PolicyModel, RuleModel, TypeMatch } from '../model.ts';
import { NEVER_ASKED } from '../native/match.ts';
import type { Json } from '../request.ts';
import type { LabelSelector } from '../world.ts';
import { readsOf } from './expressions.ts';
import type { Kinds } from './kinds.ts';
import { compact, type SourceNotes } from './notes.ts';
import { all, any, isNamespaced, NAME, not, oneOf, operationsAre, typeIs } from './predicates.ts';

interface FromNativeOptions {
  readonly kinds: Kinds;
  readonly notes: SourceNotes;
  /** The name of the Policy; the name of the native policy if it has one binding. */
  readonly name: string;
  readonly description?: string | undefined;
  /** The workload controllers that the source also covers; none by default, as in Kubernetes. */
  readonly podControllers?: readonly string[] | undefined;
}

export function policyFromNative(model: PolicyModel, options: FromNativeOptions): Json {
  const { notes } = options;
  const selection = selectionOf(model, options);
  const aboutPods = selection.resourceTypes.some((type) => /^core\/[^/]+\/Pod$/.test(type));
  const controllers = options.podControllers ?? [];
  const spec = compact({
    description: options.description,
    selector: compact({
      resourceTypes: selection.resourceTypes,
      operations: selection.operations,
      names: selection.names,
      ...(joined(model.match.objectSelector, model.alsoMatch?.objectSelector) ?? {}),
      namespaceSelector: joined(model.match.namespaceSelector, model.alsoMatch?.namespaceSelector),
      // Kubernetes exempts no namespace.
      includeSystemNamespaces: true,
    }),
    exclude: selection.exclude,
    matchConditions: [
      ...selection.conditions,
      ...model.matchConditions.map(({ name, text }) => ({ name, expression: text })),
    ],
    params: paramsOf(model, notes),
    variables: model.variables.map(({ name, text }) => ({ name, expression: text })),
    failurePolicy: model.failurePolicy,
    rules: rulesOf(model, notes),
    mutations: model.mutations.map(({ patchType, expression: { text } }) => ({
      patchType,
      ...(patchType === 'JSONPatch'
        ? { jsonPatch: { expression: text } }
        : { applyConfiguration: { expression: text } }),
    })),
    reinvocationPolicy: model.mutations.length > 0 ? model.reinvocationPolicy : undefined,
  });
  return {
    apiVersion: API_VERSION,
    kind: 'Policy',
    metadata: { name: options.name },
    // An explicit empty list limits the policy to Pods, without workload controllers.
    spec: aboutPods ? { ...spec, podControllers: { kinds: controllers } } : spec,
  };
}

interface Selection {
  readonly resourceTypes: readonly string[];
  readonly operations: readonly string[];
  readonly names: readonly string[];
  readonly exclude: Json | undefined;
  readonly conditions: readonly Json[];
}

function selectionOf(model: PolicyModel, { kinds, notes }: FromNativeOptions): Selection {
  const types = model.match.types ?? [];
  const resourceTypes = [...new Set(types.flatMap((type) => resourceTypesOf(type, kinds, notes)))];
  const operations = [...new Set(types.flatMap((type) => type.operations ?? []))];
  const names = types[0]?.resourceNames ?? [];
  const sameNames = types.every((type) => JSON.stringify(type.resourceNames ?? []) === JSON.stringify(names));
  // A Policy selector has one list of operations and one of names, so rules that differ in them need an expression.
  const plain = sameNames && types.every((type) => isPlain(type, operations, kinds));
  const conditions: Json[] = plain ? [] : [condition('resource-rules', any(...types.map(ruleExpression)))];
  const excluded = (match: MatchModel | undefined): readonly TypeMatch[] =>
    (match?.excludeTypes ?? []).filter((type) => !NEVER_ASKED.includes(type));
  for (const [name, match] of [
    ['exclude-resource-rules', model.match],
    ['binding-exclude-resource-rules', model.alsoMatch],
  ] as const) {
    const rules = excluded(match);
    if (rules.length > 0) conditions.push(condition(name, not(any(...rules.map(ruleExpression)))));
  }
  const bound = model.alsoMatch?.types ?? [];
  if (bound.length > 0) conditions.push(condition('binding-resource-rules', any(...bound.map(ruleExpression))));
  const everywhere = types.some(({ group }) => group === '*' || group === 'admissionregistration.k8s.io');
  return {
    resourceTypes,
    operations,
    names: plain ? names : [],
    // The API server never evaluates native policies on policies.
    exclude: everywhere ? { resourceTypes: ['admissionregistration.k8s.io/*/*'] } : undefined,
    conditions,
  };
}

const condition = (name: string, expression: string): Json => ({ name, expression });

function isPlain(type: TypeMatch, operations: readonly string[], kinds: Kinds): boolean {
  const known = type.resource === '*' ? undefined : kinds.ofResource(type.group, type.resource ?? '');
  if (type.resource !== '*' && known === undefined) return false;
  const { scope = '*' } = type;
  const scopeHolds = scope === '*' || known?.namespaced === (scope === 'Namespaced');
  return scopeHolds && operations.every((each) => type.operations?.includes(each as never) ?? true);
}

/** Writes a type as in a Policy selector. `*` excludes Events, Leases and access reviews unless they are named. */
function resourceTypesOf(type: TypeMatch, kinds: Kinds, notes: SourceNotes): readonly string[] {
  const { group, version, resource = '*', subresource } = type;
  const written = (name: string, of: string, kind: string): string =>
    [name === '' ? 'core' : name, of, kind, ...(subresource === undefined ? [] : [subresource])].join('/');
  if (resource === '*') {
    const noise = [
      ['', 'v1', 'Event'],
      ['events.k8s.io', 'v1', 'Event'],
      ['coordination.k8s.io', 'v1', 'Lease'],
    ] as const;
    const named = noise.filter(([name]) => group === '*' || (group === '' && name === ''));
    return [written(group, version, '*'), ...named.map(([name, of, kind]) => written(name, of, kind))];
  }
  const known = kinds.ofResource(group, resource);
  if (known !== undefined) return [written(group === '*' ? known.group : group, version, known.kind)];
  notes.lost(
    'spec.matchConstraints.resourceRules',
    `the kind of the resource ${resource} (${group}/${version}) is not known: the Policy matches it with an expression; add its CRD with -f to match it by kind`,
  );
  return [written(group, version, '*')];
}

/** Writes the rule as an expression. The version is relevant only if equivalent versions do not match. */
function ruleExpression(type: TypeMatch): string {
  const { group, version, resource = '*', subresource, operations, resourceNames, scope = '*', equivalent } = type;
  return all(
    typeIs({ group, version: equivalent === true ? '*' : version, resource, subresource }),
    ...(operations === undefined ? [] : [operationsAre(operations)]),
    ...(resourceNames === undefined ? [] : [oneOf(NAME, resourceNames)]),
    ...(scope === '*' ? [] : [scope === 'Namespaced' ? isNamespaced : not(isNamespaced)]),
  );
}

/** Combines two selectors; both must match. */
function joined(one: LabelSelector | undefined, other: LabelSelector | undefined): Json | undefined {
  if (one === undefined || other === undefined) return (one ?? other) as Json | undefined;
  const asExpressions = ({ matchLabels = {}, matchExpressions = [] }: LabelSelector): readonly object[] => [
    ...Object.entries(matchLabels).map(([key, value]) => ({ key, operator: 'In', values: [value] })),
    ...matchExpressions,
  ];
  return { matchExpressions: [...asExpressions(one), ...asExpressions(other)] };
}

function paramsOf({ params, rules, mutations, matchConditions, variables }: PolicyModel, notes: SourceNotes) {
  if (params === undefined) return undefined;
  const { notFound, ...reference } = params;
  if (params.name !== undefined || params.selector !== undefined) {
    return { ...reference, parameterNotFoundAction: notFound };
  }
  const texts = [
    ...[...rules, ...mutations].map((each) => each.expression.text),
    ...[...matchConditions, ...variables].map((each) => each.text),
  ];
  if (texts.some((text) => readsOf(text).names.has('params'))) {
    notes.lost('spec.paramKind', 'the binding has no paramRef, so `params` is null; a Policy must name an object');
  }
  return undefined;
}

function rulesOf(model: PolicyModel, notes: SourceNotes): readonly Json[] {
  const carriers = model.rules.filter(({ name }) => name === 'auditAnnotations');
  const annotations = carriers.flatMap(({ auditAnnotations }) =>
    auditAnnotations.map(({ key, value }) => ({ key, valueExpression: value.text })),
  );
  const validations = model.rules.filter((rule) => !carriers.includes(rule));
  const rules = validations.map((rule, index) => ruleOf(rule, index, notes));
  if (annotations.length === 0) return rules;
  const [first, ...others] = rules;
  if (first === undefined) return [{ name: 'audit-annotations', expression: 'true', auditAnnotations: annotations }];
  return [{ ...first, auditAnnotations: annotations }, ...others];
}

function ruleOf(rule: RuleModel, index: number, notes: SourceNotes): Json {
  const [enforcement] = rule.actions;
  if (rule.actions.length > 1 && index === 0) {
    notes.lost(
      'spec.validationActions',
      `a rule of a Policy has one enforcement: ${rule.actions.join(' and ')} becomes ${enforcement}; the background scan reports it too`,
    );
  }
  return compact({
    name: `validation-${index + 1}`,
    expression: rule.expression.text,
    message: rule.message,
    messageExpression: rule.messageExpression?.text,
    reason: rule.reason,
    enforcement,
  });
}
