/** The syntax errors of one source, without duplicates and limited in number. */
import type { Issue, IssueCode, Source } from '../source.ts';

const MAX_ISSUES = 100;

/**
 * Thrown to stop parsing: the nesting is too deep, or there are too many errors. The reason is already among the
 * issues.
 */
export const STOP = Symbol('stop');

export class SyntaxIssues {
  readonly found: Issue[] = [];
  readonly #source: Source;

  constructor(source: Source) {
    this.#source = source;
  }

  report(code: IssueCode, offset: number, message: string): void {
    if (this.found.some((each) => each.offset === offset && each.message === message)) return;
    this.found.push(this.#source.issue(code, offset, message));
    if (this.found.length >= MAX_ISSUES) this.giveUp('syntax', offset, `More than ${MAX_ISSUES} syntax errors`);
  }

  giveUp(code: IssueCode, offset: number, message: string): never {
    this.found.push(this.#source.issue(code, offset, message));
    throw STOP;
  }
}
