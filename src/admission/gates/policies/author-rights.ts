/**
 * The rights of authors: who writes a Policy must be able to read what it reads (`params`, `context`) and to list the
 * Secrets that it selects. The platform reads them with its own rights, and messages, warnings and reports show what
 * the expressions find out to anybody. The same holds for a PolicyException whose conditions see Secrets.
 *
 * Two selections are for platform administrators: all kinds without being able to list Secrets, and the namespaces of
 * the system. RBAC grants them as the verb `select` on virtual subresources of policies, which no role on `policies`
 * includes by accident.
 */
import { isDeepStrictEqual } from 'node:util';
import { GROUP, policyException, policy as policyKind } from '../../../api/index.ts';
import type { ResourceAttributes } from '../../../cel/index.ts';
import {
  type AskAuthorizer,
  type MatchModel,
  type PolicyModel,
  readException,
  readPolicy,
} from '../../../policy/index.ts';
import { matchesType, pluralOf, policyMatchesType } from '../../../policy/internal.ts';
import type { ResourceMapping } from '../../../runtime/internal.ts';
import type { AdmissionRequest, Json, UserInfo } from '../../review/decode.ts';
import { type Findings, nothing, type Violation } from '../../review/findings.ts';
import { denyAccess } from '../access.ts';
import type { AsyncGate } from '../gate.ts';

export interface AuthorRightsOptions {
  readonly ask?: ((user: UserInfo, signal: () => AbortSignal) => AskAuthorizer) | undefined;
  /** The kinds of the cluster. A kind that is not served is asked about in all namespaces, with a guessed plural. */
  readonly mapping?: (() => Pick<ResourceMapping, 'byKind'>) | undefined;
  /** Finds a Policy in force: an exception sees what the policies see that it names. */
  readonly policy?: ((name: string) => PolicyModel | undefined) | undefined;
}

type Question = ResourceAttributes & { readonly kind: 'resource' };

/** What an author needs: one of the alternatives, each of which is a list of questions. */
interface Need {
  readonly code: string;
  readonly field: string;
  /** What the object does there: `reads Secret password in namespace blue`. */
  readonly does: string;
  readonly anyOf: readonly (readonly Question[])[];
  readonly next: string;
}

export function authorRightsGate(options: AuthorRightsOptions): AsyncGate {
  return {
    name: 'policies',
    matches: isWritten,
    async evaluate(request, deadline): Promise<Findings> {
      const needs = needsOf(request, options);
      if (needs.length === 0) return nothing;
      const asking = options.ask?.(request.userInfo ?? {}, () => deadline.signal()) ?? denyAccess;
      const missing = await Promise.all(
        needs.map(async (need) => {
          for (const questions of need.anyOf) {
            const answers = await asking(questions);
            if (questions.every((_, index) => answers[index]?.allowed === true)) return [];
          }
          return [violationOf(need, request)];
        }),
      );
      return { ...nothing, violations: missing.flat() };
    },
  };
}

/**
 * Also a change of only the rules, which may print what somebody else's Policy reads. Labels, finalizers, the status and
 * a Policy that is applied again as it is need no rights.
 */
const isWritten = ({ kind, subResource, operation, object, oldObject }: AdmissionRequest): boolean =>
  kind.group === GROUP &&
  (kind.kind === policyKind.kind || kind.kind === policyException.kind) &&
  subResource === undefined &&
  (operation === 'CREATE' || (operation === 'UPDATE' && !isDeepStrictEqual(object?.spec, oldObject?.spec)));

/** An object that cannot be read needs no rights: it is denied for that, and never in force. */
function needsOf({ kind, object = {} }: AdmissionRequest, options: AuthorRightsOptions): Need[] {
  if (kind.kind === policyException.kind) return needsOfException(object, options);
  const { model } = readPolicy(object);
  if (model === undefined) return [];
  const secrets = selectsSecrets(model);
  return [
    ...readNeeds(model, options.mapping?.()),
    ...(secrets === undefined ? [] : [secretsNeed(secrets, 'spec.selector', 'selects', model.match)]),
    ...(model.match.includeSystemNamespaces === true ? [systemNeed(model.name)] : []),
  ];
}

function readNeeds({ params, context }: PolicyModel, mapping: Pick<ResourceMapping, 'byKind'> | undefined): Need[] {
  const references = [
    ...(params === undefined ? [] : [{ field: 'spec.params', reference: params, name: params.name }]),
    ...context.map((reference, index) => ({
      field: `spec.context[${index}]`,
      reference,
      name: reference.resourceName,
    })),
  ];
  return references.map(({ field, reference: { apiVersion, kind, namespace = '' }, name = '' }) => {
    const [version = '', group = ''] = apiVersion.split('/').toReversed();
    const served = mapping?.byKind(group, kind, version);
    // The namespace of a cluster-scoped kind is ignored, so that a right in that namespace is not enough.
    const where = served?.namespaced === false ? '' : namespace;
    const verb = name === '' ? 'list' : 'get';
    const question = questionOf({ verb, group, resource: served?.plural ?? pluralOf(kind), namespace: where, name });
    const what = name === '' ? `all ${manyOf(kind)}` : `${kind} ${name}`;
    return {
      code: 'ReadForbidden',
      field,
      does: `reads ${what}${served?.namespaced === false ? '' : ` in ${placesOf(where === '' ? [] : [where])}`}`,
      anyOf: [[question]],
      next: 'Read objects that you can read, or ask a user who can read these to apply the policy',
    };
  });
}

/** `named`: by their kind or a pattern for it. `wildcard`: as some of all kinds. */
type SecretSelection = 'named' | 'wildcard';

const secretType = { group: '', version: 'v1', kind: 'Secret', resource: 'secrets', subresource: '' };

function selectsSecrets(model: PolicyModel): SecretSelection | undefined {
  const { match, exclude, podControllers } = model;
  if (!(['CREATE', 'UPDATE', 'DELETE'] as const).some((each) => policyMatchesType(model, secretType, each)))
    return undefined;
  if (exclude !== undefined && excludesAllSecrets(exclude)) return undefined;
  const types = [...(match.types ?? []), ...(podControllers?.additional ?? []).map(({ type }) => type)];
  return types.some((type) => type.kind !== '*' && matchesType(type, secretType)) ? 'named' : 'wildcard';
}

/** Any further field leaves some Secrets in. */
const excludesAllSecrets = ({ types = [], ...others }: MatchModel): boolean =>
  Object.keys(others).length === 0 && types.some((type) => matchesType(type, secretType));

/** Without conditions and labels an exception learns nothing: all that the policy says about an object is left out. */
function needsOfException(object: Json, { policy }: AuthorRightsOptions): Need[] {
  const { exception } = readException(object);
  if (exception === undefined) return [];
  const { match = {}, matchConditions, policies } = exception;
  if (matchConditions.length === 0 && match.objectSelector === undefined) return [];
  const types = match.types?.filter((type) => matchesType(type, secretType));
  if (types?.length === 0) return [];
  const isNamed = types?.some(({ kind }) => kind !== '*') === true;
  // A policy that does not exist yet may select Secrets later.
  const selections = policies.map(({ name }) => {
    const model = policy?.(name);
    return model === undefined ? (isNamed ? 'named' : undefined) : selectsSecrets(model);
  });
  if (selections.every((each) => each === undefined)) return [];
  const selection = isNamed || selections.includes('named') ? 'named' : 'wildcard';
  return [secretsNeed(selection, 'spec.selector', 'distinguishes', match)];
}

function secretsNeed(selection: SecretSelection, field: string, does: string, { namespaces }: MatchModel): Need {
  const exact = namespaces !== undefined && !namespaces.some((each) => /[*?]/.test(each)) ? namespaces : [];
  const listed = (exact.length === 0 ? [''] : exact).map((namespace) =>
    questionOf({ verb: 'list', group: '', resource: 'secrets', namespace }),
  );
  return {
    code: 'SelectForbidden',
    field,
    does: `${does} Secrets in ${placesOf(exact)}`,
    anyOf: selection === 'named' ? [listed] : [listed, [selectQuestion('everything')]],
    next: 'Name the kinds, exclude core/v1/Secret in spec.exclude.resourceTypes, or ask a user who can list these Secrets to apply it',
  };
}

const systemNeed = (name: string): Need => ({
  code: 'SelectForbidden',
  field: 'spec.selector.includeSystemNamespaces',
  does: 'selects the namespaces of the system',
  anyOf: [[selectQuestion('system-namespaces', name)]],
  next: 'Remove it, or ask a platform administrator to apply the policy',
});

const selectQuestion = (subresource: string, name = ''): Question =>
  questionOf({ verb: 'select', group: GROUP, resource: policyKind.resource.plural, subresource, name });

const questionOf = (attributes: Partial<Question> & Pick<Question, 'verb' | 'group' | 'resource'>): Question => ({
  kind: 'resource',
  subject: 'requester',
  subresource: '',
  namespace: '',
  name: '',
  fieldSelector: '',
  labelSelector: '',
  ...attributes,
});

const placesOf = (namespaces: readonly string[]): string => {
  if (namespaces.length === 0) return 'all namespaces';
  return namespaces.length === 1 ? `namespace ${namespaces[0]}` : `namespaces ${namespaces.join(', ')}`;
};

/** `Secrets`, `Ingresses`, `Policies`. */
const manyOf = (kind: string): string => {
  const many = pluralOf(kind);
  const same = [...many].findIndex((letter, index) => letter !== kind[index]?.toLowerCase());
  return kind.slice(0, same < 0 ? kind.length : same) + (same < 0 ? '' : many.slice(same));
};

function violationOf({ code, field, does, anyOf, next }: Need, { userInfo }: AdmissionRequest): Violation {
  const rights = anyOf.map(([first]) => (first === undefined ? '' : rightOf(first)));
  return {
    gate: 'policies',
    code,
    field,
    message: `${field} ${does}, which user "${userInfo?.username ?? ''}" must not ${rights.join(' or ')}`,
    next,
  };
}

/** The missing right as RBAC has it; the plain verbs need no resource, since the message names the objects. */
const rightOf = ({ verb, group, resource, subresource }: Question): string =>
  subresource === '' ? verb : `${verb} (${resource}/${subresource} in ${group})`;
