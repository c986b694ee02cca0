/** The PolicyException controller: whether the exception is honoured, and if not, why. */
import { isDeepStrictEqual } from 'node:util';
import { type Policy, type PolicyException, policy, policyException } from '../../api/index.ts';
import {
  compileException,
  type ExceptionModel,
  type PolicyIssue,
  type PolicyModel,
  readException,
} from '../../policy/index.ts';
import {
  type Condition,
  controllerManagedBy,
  type DesiredCondition,
  generationChanged,
  keyOf,
  type Manager,
  mergeConditions,
} from '../../runtime/index.ts';
import type { PolicyView } from './view.ts';

type Status = NonNullable<PolicyException['status']>;

const fieldManager = 'kidp-policies';
/** The limit of a timer. */
const longestWait = 24 * 3_600_000;

/** `addExceptionReconciler` returns a function that re-evaluates all exceptions after a policy change. */
export function addExceptionReconciler(
  manager: Manager,
  { view, exceptionNamespaces }: { readonly view: PolicyView; readonly exceptionNamespaces: readonly string[] },
): () => void {
  const all = () => manager.caches.store<PolicyException>(policyException.resource).list();
  const naming = ({ metadata }: Policy) =>
    all()
      .filter(({ spec }) => spec.policies.some(({ name }) => name === metadata.name))
      .map(keyOf);
  const controller = controllerManagedBy(manager, 'policyexceptions')
    .for<PolicyException>(policyException.resource, { predicates: [generationChanged] })
    .watches<Policy>(policy.resource, naming, { predicates: [generationChanged] })
    .complete(async (request, { client, read }) => {
      const object = await read.get<PolicyException>(policyException.resource, request);
      if (object === undefined) return;
      const now = manager.clock.now();
      const modelOf = (name: string) => view.state(name)?.model;
      const status = exceptionStatus(object, { now, modelOf, exceptionNamespaces });
      if (!isDeepStrictEqual(object.status, status)) {
        const { name, namespace, resourceVersion } = object.metadata;
        const metadata = {
          name,
          ...(namespace === undefined ? {} : { namespace }),
          ...(resourceVersion === undefined ? {} : { resourceVersion }),
        };
        const body = { apiVersion: object.apiVersion, kind: object.kind, metadata, status };
        await client.apply(policyException.resource, body, { subresource: 'status', fieldManager, force: true });
      }
      const ends = readException(object as never).exception?.expiresAt;
      if (ends === undefined || ends <= now) return;
      return { requeueAfterMilliseconds: Math.min(ends - now + 1_000, longestWait) };
    });
  return () => {
    for (const object of all()) controller.enqueue(keyOf(object));
  };
}

interface ExceptionFacts {
  readonly now: number;
  readonly modelOf: (policy: string) => PolicyModel | undefined;
  readonly exceptionNamespaces: readonly string[];
}

export function exceptionStatus(object: PolicyException, facts: ExceptionFacts): Status {
  const { exception, issues } = readException(object as never);
  const all = exception === undefined ? issues : [...issues, ...compileException(exception).issues];
  const condition = readyCondition(exception, all, facts);
  const observedGeneration = object.metadata.generation ?? 0;
  const { conditions } = mergeConditions(
    object.status?.conditions as Condition[] | undefined,
    [{ ...condition, observedGeneration }],
    new Date(facts.now),
  );
  return {
    phase: condition.status === 'True' ? 'ready' : condition.reason === 'PolicyNotFound' ? 'pending' : 'failed',
    observedGeneration,
    conditions,
    expired: isExpired(exception, facts.now),
  } as Status;
}

function readyCondition(
  exception: ExceptionModel | undefined,
  issues: readonly PolicyIssue[],
  { now, modelOf, exceptionNamespaces }: ExceptionFacts,
): DesiredCondition {
  const no = (reason: string, message: string): DesiredCondition => ({
    type: 'Ready',
    status: 'False',
    reason,
    message,
  });
  const wrong = issues.find(({ severity }) => severity === 'error');
  if (exception === undefined || wrong !== undefined)
    return no('Invalid', wrong?.message ?? 'the object cannot be read');
  if (!exceptionNamespaces.includes(exception.namespace)) {
    return no(
      'NamespaceNotConfigured',
      `Exceptions are honoured only in ${exceptionNamespaces.join(', ') || 'no namespace'}`,
    );
  }
  if (isExpired(exception, now)) return no('Expired', 'The exception has expired (spec.expiresAt)');
  const missing = exception.policies.filter(({ name }) => modelOf(name) === undefined).map(({ name }) => name);
  if (missing.length > 0) return no('PolicyNotFound', `Policy ${missing.join(', ')} does not exist`);
  const unknown = exception.policies.flatMap(({ name, rules = [] }) =>
    rules.filter((rule) => !modelOf(name)?.rules.some((each) => each.name === rule)).map((rule) => `${name}/${rule}`),
  );
  if (unknown.length > 0) return no('RuleNotFound', `Rule ${unknown.join(', ')} does not exist`);
  return { type: 'Ready', status: 'True', reason: 'Honoured', message: '' };
}

const isExpired = (exception: ExceptionModel | undefined, now: number): boolean =>
  exception?.expiresAt !== undefined && exception.expiresAt <= now;
