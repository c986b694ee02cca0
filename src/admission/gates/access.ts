/** Authorization checks: may this user do this? Each distinct check of a request is one SubjectAccessReview. */
import type { AuthorizationAnswer, AuthorizationAttributes, ResourceAttributes } from '../../cel/index.ts';
import type { AskAuthorizer } from '../../policy/index.ts';
import { ApiError, type Client, type KubernetesObject, type Resource } from '../../runtime/index.ts';
import type { UserInfo } from '../review/decode.ts';

interface AccessReview extends KubernetesObject {
  spec: object;
  status?: { allowed?: boolean; reason?: string; evaluationError?: string };
}

const accessReviews: Resource = {
  group: 'authorization.k8s.io',
  version: 'v1',
  plural: 'subjectaccessreviews',
  kind: 'SubjectAccessReview',
  namespaced: false,
};

export function reviewAccess(client: Client, user: UserInfo, signal: () => AbortSignal): AskAuthorizer {
  const answers = new Map<string, Promise<AuthorizationAnswer>>();
  return (questions) =>
    Promise.all(
      questions.map((question) => {
        const key = JSON.stringify(question);
        const known = answers.get(key) ?? review(client, user, question, signal());
        answers.set(key, known);
        return known;
      }),
    );
}

/** `denyAccess` denies every check, with the reason that there is no cluster. */
export const denyAccess: AskAuthorizer = async (questions) =>
  questions.map(() => ({ allowed: false, error: 'there is no cluster to check access in' }));

async function review(
  client: Client,
  user: UserInfo,
  question: AuthorizationAttributes,
  signal: AbortSignal,
): Promise<AuthorizationAnswer> {
  const body: AccessReview = {
    apiVersion: 'authorization.k8s.io/v1',
    kind: accessReviews.kind,
    // An access review has no name: it is answered, not stored.
    metadata: {} as AccessReview['metadata'],
    spec: { ...subjectOf(question, user), ...attributesOf(question) },
  };
  try {
    const { status } = await client.create(accessReviews, body, { signal });
    const { allowed = false, reason, evaluationError } = status ?? {};
    return {
      allowed,
      ...(reason === undefined ? {} : { reason }),
      ...(evaluationError === undefined || evaluationError === '' ? {} : { error: evaluationError }),
    };
  } catch (error) {
    if (error instanceof ApiError) return { allowed: false, error: error.message };
    throw error;
  }
}

function subjectOf({ subject }: AuthorizationAttributes, { username, uid, groups, extra }: UserInfo): object {
  if (subject !== 'requester') {
    const { namespace, name } = subject;
    return {
      user: `system:serviceaccount:${namespace}:${name}`,
      groups: ['system:serviceaccounts', `system:serviceaccounts:${namespace}`, 'system:authenticated'],
    };
  }
  return { user: username, ...(uid && { uid }), ...(groups && { groups }), ...(extra && { extra }) };
}

function attributesOf(question: AuthorizationAttributes): object {
  if (question.kind === 'path') return { nonResourceAttributes: { path: question.path, verb: question.verb } };
  return { resourceAttributes: resourceAttributesOf(question) };
}

function resourceAttributesOf({
  verb,
  group,
  resource,
  subresource,
  namespace,
  name,
  ...selectors
}: ResourceAttributes) {
  const { fieldSelector, labelSelector } = selectors;
  return {
    verb,
    group,
    resource,
    ...(subresource && { subresource }),
    ...(namespace && { namespace }),
    ...(name && { name }),
    ...(fieldSelector && { fieldSelector: { rawSelector: fieldSelector } }),
    ...(labelSelector && { labelSelector: { rawSelector: labelSelector } }),
  };
}
