/**
 * The policies and exceptions that are evaluated together. A set is immutable, so every request sees one consistent
 * state.
 */
import { digest } from '../load/envelope.ts';
import type { Operation } from '../request.ts';
import type { ObjectQuery } from '../world.ts';
import type { CompiledException, CompiledPolicy } from './compile.ts';
import { PolicyIndex } from './match-index.ts';
import { controllerTypes } from './pods.ts';

const KUBE_SYSTEM = 'kube-system';
export const DEFAULT_PLATFORM_NAMESPACE = 'kidp-system';
export const DEFAULT_EXCEPTION_NAMESPACES: readonly string[] = ['policy-exceptions'];

export interface PolicySetOptions {
  readonly policies: readonly CompiledPolicy[];
  readonly exceptions?: readonly CompiledException[];
  /** The platform's own namespace, exempt from policies like kube-system. */
  readonly platformNamespace?: string;
  /** More namespaces that are exempt. */
  readonly excludedNamespaces?: readonly string[] | undefined;
  /** Exceptions in other namespaces are ignored, because users who can write there could exempt themselves. */
  readonly exceptionNamespaces?: readonly string[];
}

/** One type of resource that the webhook must be registered for. */
export interface ScopeEntry {
  readonly group: string;
  readonly version: string;
  /** Set by a Policy, which names kinds; native policies set `resource`. */
  readonly kind?: string;
  readonly resource?: string;
  readonly subresource?: string;
  readonly sparing: boolean;
  readonly operations: readonly Operation[];
  readonly failurePolicy: 'Fail' | 'Ignore';
  readonly phase: 'mutate' | 'validate';
  /** The reinvocationPolicy of a mutation. */
  readonly reinvocation?: 'Never' | 'IfNeeded';
  /** Whether it also matches kube-system, the platform's own namespace and the excluded ones. */
  readonly systemNamespaces: boolean;
}

export interface PolicySet {
  /** Changes with every change of the set. */
  readonly revision: string;
  /** By kind, name and binding. */
  readonly policies: readonly CompiledPolicy[];
  readonly exceptions: ReadonlyMap<string, readonly CompiledException[]>;
  readonly platformNamespace: string;
  readonly excludedNamespaces: readonly string[];
  /** All namespaces that are exempt: kube-system, the platform's own and the excluded ones. */
  readonly systemNamespaces: readonly string[];
  /** The objects that params and context read, which must be watched. */
  readonly needs: readonly ObjectQuery[];
  /** The types that the webhook must be registered for. The API server evaluates native policies itself. */
  readonly scope: readonly ScopeEntry[];
  readonly index: PolicyIndex;
}

/**
 * `policySet` combines compiled policies and exceptions into an immutable set.
 *
 *     const set = policySet({ policies: [policy], exceptions: [exception] });
 */
export function policySet(options: PolicySetOptions): PolicySet {
  const policies = [...options.policies].sort(byName);
  const namespaces = options.exceptionNamespaces ?? DEFAULT_EXCEPTION_NAMESPACES;
  // Replicas receive exceptions in different orders and must compute the same revision.
  const honoured = (options.exceptions ?? [])
    .filter(({ model }) => namespaces.includes(model.namespace))
    .sort(({ model: a }, { model: b }) => order(a.namespace, b.namespace) || order(a.name, b.name));
  const platformNamespace = options.platformNamespace ?? DEFAULT_PLATFORM_NAMESPACE;
  const { excludedNamespaces = [] } = options;
  const revisions = [
    ...policies.map(({ model }) => `${model.name} ${model.revision}`),
    ...honoured.map(({ model }) => `${model.namespace}/${model.name} ${model.revision}`),
  ];
  let needs: readonly ObjectQuery[] | undefined;
  let scope: readonly ScopeEntry[] | undefined;
  return {
    revision: digest([[platformNamespace, ...excludedNamespaces].join(' '), ...revisions].join('\n')),
    policies,
    exceptions: byPolicy(honoured),
    platformNamespace,
    excludedNamespaces,
    systemNamespaces: [KUBE_SYSTEM, platformNamespace, ...excludedNamespaces],
    get needs() {
      needs ??= needsOf(policies);
      return needs;
    },
    get scope() {
      scope ??= scopeOf(policies);
      return scope;
    },
    index: new PolicyIndex(policies),
  };
}

function byName({ model: a }: CompiledPolicy, { model: b }: CompiledPolicy): number {
  return order(a.name, b.name) || order(a.kind, b.kind) || order(a.binding ?? '', b.binding ?? '');
}

const order = (left: string, right: string): number => (left < right ? -1 : left > right ? 1 : 0);

function byPolicy(exceptions: readonly CompiledException[]): ReadonlyMap<string, readonly CompiledException[]> {
  const found = new Map<string, CompiledException[]>();
  for (const exception of exceptions) {
    for (const { name } of exception.model.policies) found.set(name, [...(found.get(name) ?? []), exception]);
  }
  return found;
}

function needsOf(policies: readonly CompiledPolicy[]): readonly ObjectQuery[] {
  const found = new Map<string, ObjectQuery>();
  for (const { model } of policies) {
    const { params, context } = model;
    const queries = context.map(({ name: _name, resourceName, ...rest }) => ({
      ...rest,
      ...(resourceName === undefined ? {} : { name: resourceName }),
    }));
    if (params !== undefined && (params.name ?? params.selector) !== undefined) {
      const { notFound: _notFound, ...query } = params;
      queries.push(query);
    }
    for (const query of queries) found.set(JSON.stringify(query), query);
  }
  return [...found.entries()].sort(([a], [b]) => order(a, b)).map(([, query]) => query);
}

function scopeOf(policies: readonly CompiledPolicy[]): readonly ScopeEntry[] {
  const found = new Map<string, ScopeEntry>();
  for (const { model } of policies) {
    if (model.kind !== 'Policy') continue;
    const controllers =
      model.podControllers === undefined ? [] : [...controllerTypes(model.podControllers).values()].flat();
    const phases = [
      ...(model.rules.length > 0 ? ['validate' as const] : []),
      ...(model.mutations.length > 0 ? ['mutate' as const] : []),
    ];
    for (const phase of phases) {
      for (const { operations: _operations, resourceNames: _names, scope: _scope, equivalent: _e, ...type } of [
        ...(model.match.types ?? []),
        // Only rules see the Pod of a template; mutations of Pods do not apply to workload controllers.
        ...(phase === 'validate' ? controllers : []),
      ]) {
        const entry: ScopeEntry = {
          ...type,
          sparing: type.sparing ?? false,
          operations: model.match.operations ?? ['CREATE', 'UPDATE'],
          failurePolicy: model.failurePolicy,
          phase,
          ...(phase === 'mutate' ? { reinvocation: model.reinvocationPolicy } : {}),
          systemNamespaces: model.match.includeSystemNamespaces !== false,
        };
        found.set(JSON.stringify(entry), entry);
      }
    }
  }
  return [...found.entries()].sort(([a], [b]) => order(a, b)).map(([, entry]) => entry);
}
