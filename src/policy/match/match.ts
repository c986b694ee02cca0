/**
 * Matches requests against selectors. The answer has three values: yes, no, or the part of the request that is missing
 * to decide. A `no` of one field takes precedence over missing information for another.
 */
import type { MatchModel, TypeMatch } from '../model.ts';
import type { Operation } from '../request.ts';
import { type Glob, globs } from './globs.ts';
import { isEmptySelector, labelsOf, selects } from './labels.ts';
import type { Subject } from './subject.ts';
import { matchesRequest, matchesType } from './types.ts';

/** `true`, `false`, or the information that is missing to decide. */
export type MatchAnswer = boolean | Missing;

/** Information that is needed to decide and not available. */
export interface Missing {
  readonly what: 'request' | 'namespace' | 'objects';
  readonly detail: string;
}

const NEEDS = (detail: string): Missing => ({ what: 'request', detail });
const NEEDS_USER = NEEDS('who asks');
const NEEDS_OPERATION = NEEDS('the operation');

/** A field of a match and its answer, for an explanation. */
interface FieldAnswer {
  readonly field: string;
  readonly answer: MatchAnswer;
}

type Test = (subject: Subject) => MatchAnswer;
/** With `exclude`, matching requests are exempt, by the exclusion of a policy or by an exception. */
type Purpose = 'select' | 'exclude';

export class CompiledMatch {
  readonly model: MatchModel;
  readonly #tests: readonly (readonly [field: string, test: Test])[];

  constructor(model: MatchModel, purpose: Purpose = 'select') {
    this.model = model;
    this.#tests = [...testsOf(model, purpose)];
  }

  answer(subject: Subject): MatchAnswer {
    let answer: MatchAnswer = true;
    for (let index = 0; index < this.#tests.length; index++) {
      const each = (this.#tests[index] as readonly [string, Test])[1](subject);
      if (each === false) return false;
      if (each !== true && answer === true) answer = each;
    }
    return answer;
  }

  fields(subject: Subject): readonly FieldAnswer[] {
    return this.#tests.map(([field, test]) => ({ field, answer: test(subject) }));
  }
}

function* testsOf(model: MatchModel, purpose: Purpose): Iterable<readonly [string, Test]> {
  const { types, excludeTypes, operations, objectSelector, namespaceSelector } = model;
  if (types !== undefined) {
    yield ['resourceTypes', (subject) => oneFits(types, subject, 'select')];
  }
  if (excludeTypes !== undefined) {
    yield ['excludeResourceRules', (subject) => not(oneFits(excludeTypes, subject, 'exclude'))];
  }
  if (model.includeSystemNamespaces === false) {
    yield ['includeSystemNamespaces', (subject) => !subject.inSystemNamespace];
  }
  if (operations !== undefined) yield ['operations', operationTest(operations, purpose)];
  if (model.namespaces !== undefined) yield ['namespaces', named(model.namespaces, (subject) => subject.namespace)];
  if (model.names !== undefined) yield ['names', named(model.names, (subject) => subject.name)];
  if (objectSelector !== undefined && !isEmptySelector(objectSelector)) {
    yield [
      'labels',
      ({ object, oldObject, labels, oldLabels }) => {
        const after = object === null ? undefined : selects(objectSelector, labels);
        const before = oldObject === null || oldLabels === undefined ? undefined : selects(objectSelector, oldLabels);
        // A request must not avoid a policy by adding or removing a label itself.
        if (purpose === 'exclude') return (after ?? before) === true && (before ?? after) === true;
        return after === true || before === true;
      },
    ];
  }
  const who = whoTest(model);
  if (who !== undefined) yield ['users, groups and serviceAccounts', who];
  if (namespaceSelector !== undefined && !isEmptySelector(namespaceSelector)) {
    yield [
      'namespaceSelector',
      (subject) => {
        // A cluster-scoped object is never excluded by namespace labels; a Namespace uses its own labels.
        if (subject.namespace === '' && !subject.isNamespace) return purpose === 'select';
        const namespace = subject.isNamespace ? subject.ownNamespaceObject : subject.namespaceObject;
        if (namespace === undefined)
          return { what: 'namespace', detail: `the labels of namespace ${subject.namespace}` };
        return selects(namespaceSelector, labelsOf(namespace));
      },
    ];
  }
}

const not = (answer: MatchAnswer): MatchAnswer => (typeof answer === 'boolean' ? !answer : answer);

function oneFits(types: readonly TypeMatch[], subject: Subject, purpose: Purpose): MatchAnswer {
  const known = !subject.isUnknown('operation');
  const namespaced = subject.namespace !== '' && !subject.isNamespace;
  let answer: MatchAnswer = false;
  for (const type of types) {
    if (!matchesType(type, subject, known ? subject.operation : undefined)) continue;
    if (!matchesRequest(type, subject.name, namespaced)) continue;
    const one = known || type.operations === undefined ? true : withoutOperation(type.operations, purpose);
    if (one === true) return true;
    if (one !== false) answer = one;
  }
  return answer;
}

function named(patterns: readonly string[], of: (subject: Subject) => string): Test {
  const fits = globs(patterns);
  return (subject) => fits(of(subject));
}

function operationTest(operations: readonly Operation[], purpose: Purpose): Test {
  const unasked = withoutOperation(operations, purpose);
  return (subject) => (subject.isUnknown('operation') ? unasked : operations.includes(subject.operation));
}

/**
 * A stored object was created or updated. A selector for both operations matches it; a selector for only one of them,
 * or for DELETE, needs the operation. An exclusion for neither excludes nothing.
 */
function withoutOperation(operations: readonly Operation[], purpose: Purpose): MatchAnswer {
  const stored = (['CREATE', 'UPDATE'] as const).filter((each) => operations.includes(each)).length;
  if (stored === 2) return true;
  return stored === 0 && purpose === 'exclude' ? false : NEEDS_OPERATION;
}

/** Matches the user: each list that is set must contain the user, like all other fields. */
function whoTest(model: MatchModel): Test | undefined {
  const { users, groups, serviceAccounts } = model;
  if (users === undefined && groups === undefined && serviceAccounts === undefined) return undefined;
  const user: Glob | undefined = users === undefined ? undefined : globs(users);
  const group: Glob | undefined = groups === undefined ? undefined : globs(groups);
  const account: Glob | undefined = serviceAccounts === undefined ? undefined : globs(serviceAccounts);
  return (subject) => {
    if (subject.isUnknown('userInfo')) return NEEDS_USER;
    const { userInfo } = subject.request;
    if (user !== undefined && !user(userInfo?.username ?? '')) return false;
    if (group !== undefined && !(userInfo?.groups ?? []).some(group)) return false;
    const { serviceAccount } = subject;
    return account === undefined || (serviceAccount !== undefined && account(serviceAccount));
  };
}
