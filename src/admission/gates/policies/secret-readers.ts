/**
 * Denies a Policy that reads Secrets (`params`, `context`) to a user who cannot read these Secrets. The platform reads them
 * with its own rights, and a message of the Policy can print them to anybody.
 */
import { isDeepStrictEqual } from 'node:util';
import { GROUP, policy } from '../../../api/index.ts';
import type { ResourceAttributes } from '../../../cel/index.ts';
import type { AskAuthorizer } from '../../../policy/index.ts';
import { type AdmissionRequest, isObject, type Json, type UserInfo } from '../../review/decode.ts';
import { nothing, type Violation } from '../../review/findings.ts';
import { denyAccess } from '../access.ts';
import type { AsyncGate } from '../gate.ts';

interface Reader {
  readonly field: string;
  readonly question: ResourceAttributes & { readonly kind: 'resource' };
}

export function secretReadersGate(ask?: (user: UserInfo, signal: () => AbortSignal) => AskAuthorizer): AsyncGate {
  return {
    name: 'policies',
    matches: (request) => isWritten(request) && readersIn(request.object).length > 0,
    async evaluate(request, deadline) {
      const readers = readersIn(request.object);
      const asking = ask?.(request.userInfo ?? {}, () => deadline.signal()) ?? denyAccess;
      const answers = await asking(readers.map(({ question }) => question));
      const denied = readers.filter((_, index) => answers[index]?.allowed !== true);
      return { ...nothing, violations: denied.map((reader) => violationOf(reader, request)) };
    },
  };
}

/** Also a change of only the rules, which may print what somebody else's Policy reads. */
const isWritten = ({ kind, subResource, operation, object, oldObject }: AdmissionRequest): boolean =>
  kind.group === GROUP &&
  kind.kind === policy.kind &&
  subResource === undefined &&
  (operation === 'CREATE' || (operation === 'UPDATE' && !isDeepStrictEqual(object?.spec, oldObject?.spec)));

function readersIn(object: Json | undefined): Reader[] {
  const spec = isObject(object?.spec) ? object.spec : {};
  const context = Array.isArray(spec.context) ? spec.context : [];
  const references = [
    { field: 'spec.params', reference: spec.params, key: 'name' },
    ...context.map((reference, index) => ({ field: `spec.context[${index}]`, reference, key: 'resourceName' })),
  ];
  return references.flatMap(({ field, reference, key }) =>
    isObject(reference) && reference.kind === 'Secret' && reference.apiVersion === 'v1'
      ? [{ field, question: questionOf(textOf(reference[key]), textOf(reference.namespace)) }]
      : [],
  );
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

/** Without a namespace the Policy reads in all of them. */
const questionOf = (name: string, namespace: string): Reader['question'] => ({
  kind: 'resource',
  subject: 'requester',
  verb: name === '' ? 'list' : 'get',
  group: '',
  resource: 'secrets',
  subresource: '',
  namespace,
  name,
  fieldSelector: '',
  labelSelector: '',
});

function violationOf(
  { field, question: { verb, name, namespace } }: Reader,
  { userInfo }: AdmissionRequest,
): Violation {
  const which = `${name === '' ? 'all Secrets' : `Secret ${name}`} in ${namespace === '' ? 'all namespaces' : `namespace ${namespace}`}`;
  return {
    gate: 'policies',
    code: 'SecretReaderForbidden',
    field,
    message: `${field} reads ${which}, which user "${userInfo?.username ?? ''}" must not ${verb}`,
    next: 'Read another kind, such as a ConfigMap, or ask a user who can read these Secrets to apply the policy',
  };
}
