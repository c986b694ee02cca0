/**
 * How long the expression that runs may take. A decision is made in one go, so there is one clock for all: it belongs to the module,
 * not to a request, because what an evaluation is given stays with the expression until it runs again, and must hold on to nothing.
 */
import type { Budget } from '../../cel/index.ts';

let deadline = Number.POSITIVE_INFINITY;
let end = 0;
let looks = 0;

/** For the decision that begins now: milliseconds since 1970 after which nothing more is begun. */
export function setDeadline(at: number | undefined): void {
  deadline = at ?? Number.POSITIVE_INFINITY;
}

export const isLate = (): boolean => deadline !== Number.POSITIVE_INFINITY && Date.now() >= deadline;

/** What an expression that reads no variables is evaluated with: one at a time, so one is enough. */
export const BUDGET: Budget = { spent: 0, interrupt: isOver };

/** For one that has others evaluated meanwhile. */
export const ownBudget = (limit?: number): Budget => ({
  spent: 0,
  interrupt: isOver,
  ...(limit === undefined ? {} : { limit }),
});

export function beginExpression(): void {
  looks = 0;
}

/**
 * One expression may take half of the time that is left, so that one that loops leaves the others theirs. It is asked when a loop
 * begins, too: most end soon, and what the clock says is only of interest to the rest.
 */
function isOver(): boolean {
  if (looks++ === 0 || deadline === Number.POSITIVE_INFINITY) return false;
  const now = Date.now();
  if (looks === 2) end = now + (deadline - now) / 2;
  return now >= end;
}
