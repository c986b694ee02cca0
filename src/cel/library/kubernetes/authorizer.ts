/**
 * Authorization checks in expressions: `authorizer.group('apps').resource('deployments').check('create').allowed()`.
 * The library collects the attributes of the check; the host, which knows the user and the cluster, decides.
 */
import { sizeOf } from '../../cost/size.ts';
import { fn, type Library, member } from '../../declarations.ts';
import { BOOL, object, STRING } from '../../types.ts';
import { type CelError, invalidArgument, noSuchOverload, TypeValue, type Value } from '../../values.ts';
import { add, estimate, fixed, nominal, scale, sizeOfNode } from '../estimate.ts';
import { trimSpace } from '../go-text.ts';
import { ComparedValue } from '../opaque.ts';
import { dns1123LabelProblems, dns1123SubdomainProblems } from './name-rules.ts';

/** The subject of a check: the user of the request, or a service account. */
type Subject = 'requester' | { readonly namespace: string; readonly name: string };

export interface PathAttributes {
  readonly kind: 'path';
  readonly subject: Subject;
  readonly verb: string;
  readonly path: string;
}

export interface ResourceAttributes {
  readonly kind: 'resource';
  readonly subject: Subject;
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  /** The following attributes are empty unless the expression sets them. */
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
  /** The selector as written. An invalid selector restricts nothing. */
  readonly fieldSelector: string;
  readonly labelSelector: string;
}

export type AuthorizationAttributes = PathAttributes | ResourceAttributes;

export interface AuthorizationAnswer {
  readonly allowed: boolean;
  readonly reason?: string;
  /** The reason why the check failed. */
  readonly error?: string;
}

/** The interface that the host implements. It must not throw. */
export interface AuthorizationHost {
  decide(attributes: AuthorizationAttributes): AuthorizationAnswer;
}

const typeNamed = (name: string) => ({
  type: object(`kubernetes.authorization.${name}`),
  runtime: new TypeValue(`kubernetes.authorization.${name}`),
});

const TYPES = {
  authorizer: typeNamed('Authorizer'),
  path: typeNamed('PathCheck'),
  group: typeNamed('GroupCheck'),
  resource: typeNamed('ResourceCheck'),
  decision: typeNamed('Decision'),
};

/** The type of the variable `authorizer`. */
export const AUTHORIZER = TYPES.authorizer.type;
/** The type of the variable `authorizer.requestResource`. */
export const RESOURCE_CHECK = TYPES.resource.type;

/** Kubernetes cannot compare these values with anything, not even with themselves. */
abstract class Incomparable extends ComparedValue {
  override equalsOrError(): CelError {
    return noSuchOverload();
  }

  override toString(): string {
    return this.type.name;
  }
}

export class Authorizer extends Incomparable {
  override readonly type = TYPES.authorizer.runtime;
  readonly host: AuthorizationHost;
  readonly subject: Subject;

  constructor(host: AuthorizationHost, subject: Subject = 'requester') {
    super();
    this.host = host;
    this.subject = subject;
  }
}

class PathCheck extends Incomparable {
  override readonly type = TYPES.path.runtime;
  readonly authorizer: Authorizer;
  readonly path: string;

  constructor(authorizer: Authorizer, path: string) {
    super();
    this.authorizer = authorizer;
    this.path = path;
  }
}

class GroupCheck extends Incomparable {
  override readonly type = TYPES.group.runtime;
  readonly authorizer: Authorizer;
  readonly group: string;

  constructor(authorizer: Authorizer, group: string) {
    super();
    this.authorizer = authorizer;
    this.group = group;
  }
}

/** The question of a resource check, without the verb and the subject. */
type ResourceQuestion = Omit<ResourceAttributes, 'kind' | 'subject' | 'verb'>;

export class ResourceCheck extends Incomparable {
  override readonly type = TYPES.resource.runtime;
  readonly authorizer: Authorizer;
  readonly question: ResourceQuestion;

  constructor(
    authorizer: Authorizer,
    question: Pick<ResourceQuestion, 'group' | 'resource'> & Partial<ResourceQuestion>,
  ) {
    super();
    this.authorizer = authorizer;
    this.question = { subresource: '', namespace: '', name: '', fieldSelector: '', labelSelector: '', ...question };
  }
}

class Decision extends Incomparable {
  override readonly type = TYPES.decision.runtime;
  readonly answer: AuthorizationAnswer;

  constructor(answer: AuthorizationAnswer) {
    super();
    this.answer = answer;
  }
}

/** The cost of one check: an expression can afford two. */
const CHECK_COST = 350_000;

const one = { estimate: nominal };
const check = { cost: () => CHECK_COST, estimate: () => estimate(fixed(CHECK_COST)) };

/**
 * The costs of a selector: a list of requirements, each of at least two characters, with a struct and a list.
 */
const selector = {
  cost: ([, text]: readonly Parameters<typeof sizeOf>[0][]) => {
    const size = sizeOf(text ?? null);
    return 10 + Math.ceil(size * 0.1) + Math.ceil(Math.ceil(size * 0.5) * 50);
  },
  estimate: (_target: unknown, [text]: readonly Parameters<typeof sizeOfNode>[0][]) => {
    const size = sizeOfNode(text);
    return estimate(add(fixed(10), scale(size, 0.1), scale(scale(size, 0.5), 50)));
  },
};

const refine = (name: string, id: string, field: keyof ResourceQuestion, costs: object = one) =>
  fn(name, [
    member(
      id,
      [TYPES.resource.type, STRING],
      TYPES.resource.type,
      (of: ResourceCheck, text: string) => new ResourceCheck(of.authorizer, { ...of.question, [field]: text }),
      costs,
    ),
  ]);

const ask = (name: string, id: string, result: typeof BOOL, of: (answer: AuthorizationAnswer) => Value) =>
  fn(name, [member(id, [TYPES.decision.type], result, ({ answer }: Decision) => of(answer), one)]);

export const authorization: Library = {
  name: 'kubernetes.authz',
  types: Object.values(TYPES).map(({ type }) => type),
  functions: [
    fn('path', [member('authorizer_path', [AUTHORIZER, STRING], TYPES.path.type, pathCheck, one)]),
    fn('group', [
      member(
        'authorizer_group',
        [AUTHORIZER, STRING],
        TYPES.group.type,
        (of: Authorizer, group: string) => new GroupCheck(of, group),
        one,
      ),
    ]),
    fn('serviceAccount', [
      member('authorizer_serviceaccount', [AUTHORIZER, STRING, STRING], AUTHORIZER, serviceAccount, one),
    ]),
    fn('resource', [
      member('groupcheck_resource', [TYPES.group.type, STRING], TYPES.resource.type, resourceCheck, one),
    ]),
    refine('subresource', 'resourcecheck_subresource', 'subresource'),
    refine('namespace', 'resourcecheck_namespace', 'namespace'),
    refine('name', 'resourcecheck_name', 'name'),
    refine('fieldSelector', 'authorizer_fieldselector', 'fieldSelector', selector),
    refine('labelSelector', 'authorizer_labelselector', 'labelSelector', selector),
    fn('check', [
      member(
        'pathcheck_check',
        [TYPES.path.type, STRING],
        TYPES.decision.type,
        ({ authorizer, path }: PathCheck, verb: string) =>
          new Decision(authorizer.host.decide({ kind: 'path', subject: authorizer.subject, verb, path })),
        check,
      ),
      member(
        'resourcecheck_check',
        [TYPES.resource.type, STRING],
        TYPES.decision.type,
        ({ authorizer, question }: ResourceCheck, verb: string) =>
          new Decision(authorizer.host.decide({ kind: 'resource', subject: authorizer.subject, verb, ...question })),
        check,
      ),
    ]),
    ask('errored', 'decision_errored', BOOL, (answer) => answer.error !== undefined),
    ask('error', 'decision_error', STRING, (answer) => answer.error ?? ''),
    ask('allowed', 'decision_allowed', BOOL, (answer) => answer.allowed),
    ask('reason', 'decision_reason', STRING, (answer) => answer.reason ?? ''),
  ],
};

function pathCheck(of: Authorizer, path: string): PathCheck | CelError {
  return trimSpace(path) === '' ? invalidArgument('path must not be empty') : new PathCheck(of, path);
}

function serviceAccount(of: Authorizer, namespace: string, name: string): Authorizer | CelError {
  if (dns1123SubdomainProblems(name).length > 0) return invalidArgument('Invalid service account name');
  if (dns1123LabelProblems(namespace).length > 0) return invalidArgument('Invalid service account namespace');
  return new Authorizer(of.host, { namespace, name });
}

function resourceCheck({ authorizer, group }: GroupCheck, resource: string): ResourceCheck | CelError {
  if (trimSpace(resource) === '') return invalidArgument('resource must not be empty');
  return new ResourceCheck(authorizer, { group, resource });
}
