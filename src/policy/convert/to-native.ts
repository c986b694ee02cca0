/** Converts a Policy to manifests of ValidatingAdmissionPolicies and MutatingAdmissionPolicies with bindings. */

import type { CompiledPolicy } from '../engine/compile.ts';
import { DEFAULT_PLATFORM_NAMESPACE } from '../engine/set.ts';
import type { PolicyModel, RuleModel } from '../model.ts';
import type { Json } from '../request.ts';
import { type Carried, carriedOver, conditionName } from './carry.ts';
import type { Kinds } from './kinds.ts';
import { matchConditions, systemNamespaces } from './match-conditions.ts';
import { compact, type SourceNotes } from './notes.ts';
import { resourceRules } from './resource-rules.ts';

const API_VERSION = 'admissionregistration.k8s.io/v1';

export interface ToNativeOptions {
  readonly kinds: Kinds;
  readonly notes: SourceNotes;
  readonly description?: string | undefined;
  /** The time in milliseconds since 1970, for `enforceAfter`. */
  readonly now: number;
  readonly platformNamespace?: string | undefined;
}

export function nativeFromPolicy(policy: CompiledPolicy, options: ToNativeOptions): readonly Json[] {
  const { model } = policy;
  const carried = carriedOver(policy, options);
  const made: Json[] = [];
  const byAction = Map.groupBy(carried.rules, (rule) => rule.action);
  for (const [action, rules] of byAction) {
    const name = byAction.size === 1 ? model.name : `${model.name}-${action.toLowerCase()}`;
    made.push(
      ...bound('ValidatingAdmissionPolicy', name, { validationActions: [action] }, model, options, {
        ...shared(model, carried, options),
        validations: rules.map(({ rule, expression, messageExpression }) =>
          validationOf(rule, expression, messageExpression),
        ),
        auditAnnotations: rules.flatMap(({ annotations }) => annotations),
      }),
    );
  }
  // Kubernetes rejects mutations for DELETE.
  const operations = model.match.operations?.filter((operation) => operation !== 'DELETE');
  if (carried.mutations.length > 0 && operations?.length !== 0) {
    const mutated = { ...model, match: { ...model.match, ...(operations === undefined ? {} : { operations }) } };
    const name = made.length === 0 ? model.name : `${model.name}-mutate`;
    made.push(
      ...bound('MutatingAdmissionPolicy', name, {}, model, options, {
        ...shared(mutated, carried, options),
        mutations: carried.mutations,
        reinvocationPolicy: model.reinvocationPolicy,
      }),
    );
  }
  return made;
}

function shared(model: PolicyModel, carried: Carried, options: ToNativeOptions): Json {
  const { match } = model;
  const rules = resourceRules(match, options);
  const exempt = match.includeSystemNamespaces === true ? [] : [systemNamespaces(platform(options))];
  const { matchLabels, matchExpressions = [] } = match.namespaceSelector ?? {};
  return {
    failurePolicy: model.failurePolicy,
    paramKind:
      model.params === undefined ? undefined : { apiVersion: model.params.apiVersion, kind: model.params.kind },
    matchConstraints: compact({
      resourceRules: rules.included,
      excludeResourceRules: rules.excluded,
      namespaceSelector: compact({ matchLabels, matchExpressions: [...matchExpressions, ...exempt] }),
      objectSelector: match.objectSelector,
    }),
    matchConditions: [
      ...rules.conditions,
      ...matchConditions(model, options),
      ...carried.conditions.map(({ name, expression }) => ({ name: conditionName(name), expression })),
    ],
    variables: carried.variables,
  };
}

const platform = ({ platformNamespace }: ToNativeOptions): string => platformNamespace ?? DEFAULT_PLATFORM_NAMESPACE;

function validationOf(rule: RuleModel, expression: string, messageExpression: string | undefined): Json {
  // Kubernetes requires a single-line message if the expression has several lines.
  const message = rule.message ?? (expression.includes('\n') ? `${rule.name} does not hold` : undefined);
  return compact({
    expression,
    message: message?.trim().replace(/\s*\n\s*/g, ' '),
    messageExpression,
    reason: rule.reason,
  });
}

function bound(
  kind: string,
  name: string,
  bindingFields: Json,
  { params }: PolicyModel,
  { description }: ToNativeOptions,
  spec: Json,
): readonly Json[] {
  const annotations = description === undefined ? {} : { annotations: { 'kubernetes.io/description': description } };
  return [
    { apiVersion: API_VERSION, kind, metadata: { name, ...annotations }, spec: compact(spec) },
    {
      apiVersion: API_VERSION,
      kind: `${kind}Binding`,
      metadata: { name },
      spec: compact({
        policyName: name,
        paramRef:
          params === undefined
            ? undefined
            : {
                ...(params.name === undefined ? { selector: params.selector ?? {} } : { name: params.name }),
                ...(params.namespace === undefined ? {} : { namespace: params.namespace }),
                parameterNotFoundAction: params.notFound,
              },
        ...bindingFields,
      }),
    },
  ];
}
