/** Writes a policy issue as one sentence: the position with line and column, then the problem. */
import type { PolicyIssue } from './model.ts';

/**
 * `issueText` returns, for example, `spec.rules[0].expression, line 1, column 5: undefined field 'replcas', did you
 * mean 'replicas'?`.
 */
export function issueText({ path, line, column, message }: PolicyIssue): string {
  const words = withoutPlace(message, path).replaceAll(/ERROR: <input>:(\d+):(\d+): /g, 'line $1, column $2: ');
  const place = line === undefined ? path : `${path}, line ${line}, column ${column ?? 1}`;
  return place === '' ? words : `${place}: ${words}`;
}

/** Removes the position from the start of a message, in any of its notations. */
function withoutPlace(message: string, path: string): string {
  const rest = message.startsWith(path) ? message.slice(path.length).replace(/^(?::\d+:\d+)?: /, '') : message;
  return rest.replace(/^ERROR: <input>:\d+:\d+: /, '');
}
