/** What is wrong with a policy in one sentence: the place once, with line and column, then what is wrong there. */
import type { PolicyIssue } from './model.ts';

/** `spec.rules[0].expression, line 1, column 5: undefined field 'replcas', did you mean 'replicas'?`. */
export function issueText({ path, line, column, message }: PolicyIssue): string {
  const words = withoutPlace(message, path).replaceAll(/ERROR: <input>:(\d+):(\d+): /g, 'line $1, column $2: ');
  const place = line === undefined ? path : `${path}, line ${line}, column ${column ?? 1}`;
  return place === '' ? words : `${place}: ${words}`;
}

/** Messages begin with their place, in whichever way who found it writes places. */
function withoutPlace(message: string, path: string): string {
  const rest = message.startsWith(path) ? message.slice(path.length).replace(/^(?::\d+:\d+)?: /, '') : message;
  return rest.replace(/^ERROR: <input>:\d+:\d+: /, '');
}
