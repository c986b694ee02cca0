/** The authorizer of a test: it allows only what the test declares. */
import type { AuthorizationAnswer, AuthorizationAttributes } from '../../cel/index.ts';

/** An answer and the questions it applies to; an absent field matches any value. */
export interface AuthorizerAnswer {
  readonly verb?: string;
  readonly group?: string;
  readonly resource?: string;
  readonly subresource?: string;
  readonly namespace?: string;
  readonly name?: string;
  readonly path?: string;
  /** The service account; the user of the request by default. */
  readonly serviceAccount?: { readonly namespace: string; readonly name: string };
  readonly allowed?: boolean;
  readonly reason?: string;
  readonly error?: string;
}

/** The first matching answer is used; without one the check is denied. */
export function answering(
  answers: readonly AuthorizerAnswer[],
): (question: AuthorizationAttributes) => AuthorizationAnswer {
  return (question) => {
    const found = answers.find((answer) => isFor(answer, question));
    if (found === undefined) return { allowed: false };
    const { allowed = found.error === undefined, reason, error } = found;
    return { allowed, ...(reason === undefined ? {} : { reason }), ...(error === undefined ? {} : { error }) };
  };
}

const fields = ['group', 'resource', 'subresource', 'namespace', 'name'] as const;

function isFor(answer: AuthorizerAnswer, question: AuthorizationAttributes): boolean {
  if (!isAbout(answer, question) || (answer.verb !== undefined && answer.verb !== question.verb)) return false;
  if (question.kind === 'path') {
    return fields.every((field) => answer[field] === undefined) && (answer.path ?? question.path) === question.path;
  }
  return answer.path === undefined && fields.every((field) => (answer[field] ?? question[field]) === question[field]);
}

function isAbout({ serviceAccount }: AuthorizerAnswer, { subject }: AuthorizationAttributes): boolean {
  if (subject === 'requester' || serviceAccount === undefined) {
    return subject === 'requester' && serviceAccount === undefined;
  }
  return serviceAccount.namespace === subject.namespace && serviceAccount.name === subject.name;
}
