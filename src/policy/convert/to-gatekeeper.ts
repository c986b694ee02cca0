/** Converts a Policy to manifests for Gatekeeper: ConstraintTemplates in CEL, each with a Constraint. */

import type { CompiledPolicy } from '../engine/compile.ts';
import { DEFAULT_PLATFORM_NAMESPACE } from '../engine/set.ts';
import type { Action, MatchModel, PolicyModel } from '../model.ts';
import type { Json } from '../request.ts';
import { type CarriedRule, carriedOver, conditionName } from './carry.ts';
import { matchConditions } from './match-conditions.ts';
import { compact } from './notes.ts';
import { NAME, NAMESPACE, oneOf, operationsAre } from './predicates.ts';
import type { ToNativeOptions } from './to-native.ts';

const ENFORCEMENT: Readonly<Record<Action, string>> = { Deny: 'deny', Warn: 'warn', Audit: 'dryrun' };
/** Variables that Gatekeeper defines itself. */
const TAKEN: ReadonlySet<string> = new Set(['anyObject', 'params']);

export function gatekeeperFromPolicy(policy: CompiledPolicy, options: ToNativeOptions): readonly Json[] {
  const { model } = policy;
  const { notes } = options;
  if (model.mutations.length > 0) notes.lost('spec.mutations', 'ConstraintTemplates only validate: use --to native');
  if (model.params !== undefined) {
    notes.lost(
      'spec.params',
      'params objects have no Gatekeeper equivalent: `params` is the Constraint; move the values to its parameters',
    );
  }
  for (const { name, path } of model.variables) {
    if (TAKEN.has(name)) notes.lost(path, `Gatekeeper reserves the variable ${name}: rename it`);
  }
  const carried = carriedOver(policy, options);
  for (const { rule, annotations } of carried.rules) {
    const path = rule.expression.path.replace(/\.expression$/, '');
    if (annotations.length > 0) notes.lost(`${path}.auditAnnotations`, 'has no Gatekeeper equivalent');
    if (rule.reason !== undefined) notes.lost(`${path}.reason`, 'has no Gatekeeper equivalent');
  }
  const conditions = [
    ...narrowingConditions(model, options),
    ...carried.conditions.map(({ name, expression }) => ({ name: conditionName(name), expression })),
  ];
  const byAction = Map.groupBy(carried.rules, (rule) => rule.action);
  return [...byAction].flatMap(([action, rules]) => {
    const name = byAction.size === 1 ? model.name : `${model.name}-${action.toLowerCase()}`;
    const kind = kindOf(name);
    const source = compact({
      failurePolicy: model.failurePolicy,
      matchConditions: conditions,
      variables: carried.variables,
      validations: rules.map(validationOf),
    });
    return [
      {
        apiVersion: 'templates.gatekeeper.sh/v1',
        kind: 'ConstraintTemplate',
        metadata: compact({
          name: kind.toLowerCase(),
          annotations: options.description === undefined ? undefined : { description: options.description },
        }),
        spec: {
          crd: { spec: { names: { kind } } },
          targets: [{ target: 'admission.k8s.gatekeeper.sh', code: [{ engine: 'K8sNativeValidation', source }] }],
        },
      },
      {
        apiVersion: 'constraints.gatekeeper.sh/v1beta1',
        kind,
        metadata: { name },
        spec: { enforcementAction: ENFORCEMENT[action], match: constraintMatch(model.match, options) },
      },
    ];
  });
}

const validationOf = ({ rule, expression, messageExpression }: CarriedRule): Json =>
  compact({ expression, message: rule.message?.trim(), messageExpression });

/** Returns the kind of the Constraint: `require-backup` becomes `RequireBackup`. */
function kindOf(name: string): string {
  const words = name.split(/[^A-Za-z0-9]+/).filter((word) => word !== '');
  return words.map((word) => (word[0] ?? '').toUpperCase() + word.slice(1)).join('');
}

function constraintMatch(match: MatchModel, { notes, platformNamespace }: ToNativeOptions): Json {
  const { types = [] } = match;
  if (types.some(({ version }) => version !== '*')) {
    notes.lost('spec.selector.resourceTypes', 'versions have no Gatekeeper equivalent: all versions of a kind match');
  }
  if (types.some(({ subresource }) => subresource !== undefined)) {
    notes.lost(
      'spec.selector.resourceTypes',
      'subresources have no Gatekeeper equivalent: they are matched by kind only',
    );
  }
  const byGroup = Map.groupBy(types, ({ group }) => group);
  const exempt =
    match.includeSystemNamespaces === true ? [] : ['kube-system', platformNamespace ?? DEFAULT_PLATFORM_NAMESPACE];
  return compact({
    kinds: [...byGroup].map(([group, each]) => ({
      apiGroups: [group],
      kinds: [...new Set(each.map(({ kind }) => kind ?? '*'))],
    })),
    namespaces: isSimple(match.namespaces) ? match.namespaces : undefined,
    excludedNamespaces: exempt,
    labelSelector: match.objectSelector,
    namespaceSelector: match.namespaceSelector,
    name: isSimple(match.names) && match.names?.length === 1 ? match.names[0] : undefined,
  });
}

/** Gatekeeper supports a `*` at the start or the end of a name only. */
const isSimple = (patterns: readonly string[] | undefined): boolean =>
  patterns?.every((each) => /^\*?[^*?]*\*?$/.test(each)) === true;

/** Writes the selector fields that the match of a Constraint cannot express as expressions. */
function narrowingConditions(model: PolicyModel, options: ToNativeOptions): readonly Json[] {
  const { namespaces: _namespaces, names: _names, ...others } = model.match;
  const { namespaces, names, operations = ['CREATE', 'UPDATE'] } = model.match;
  const usual = operations.length === 2 && operations.includes('CREATE') && operations.includes('UPDATE');
  return [
    ...(usual ? [] : [{ name: 'operations', expression: operationsAre(operations) }]),
    ...(namespaces === undefined || isSimple(namespaces)
      ? []
      : [{ name: 'namespaces', expression: oneOf(NAMESPACE, namespaces) }]),
    ...(names === undefined || (isSimple(names) && names.length === 1)
      ? []
      : [{ name: 'names', expression: oneOf(NAME, names) }]),
    ...matchConditions({ ...model, match: others }, options),
  ];
}
