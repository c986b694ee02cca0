/**
 * The time limit of one decision. Each call of `decide` or `mutate` makes its own clock and passes it to everything
 * that it evaluates. A compiled expression keeps a reference to the clock of its last evaluation, so a clock holds
 * numbers only and never the request.
 */
import type { Budget } from '../../cel/index.ts';

export class EvaluationClock {
  /** The budget of an expression that reads no variables. Such expressions run one at a time, so they share it. */
  readonly budget: Budget;
  #deadline: number;
  readonly #interrupt: () => boolean;
  #expressionEnd = 0;
  #checks = 0;

  /** `deadline` is in milliseconds since 1970. Without one nothing reads the time, and nothing is ever late. */
  constructor(deadline = Number.POSITIVE_INFINITY) {
    this.#deadline = deadline;
    this.#interrupt = () => this.#isExpressionOver();
    this.budget = { spent: 0, interrupt: this.#interrupt };
  }

  /** `restart` prepares the clock for another decision. Nothing of the previous one is left in it. */
  restart(deadline = Number.POSITIVE_INFINITY): void {
    this.#deadline = deadline;
    this.#expressionEnd = 0;
    this.#checks = 0;
    this.budget.spent = 0;
  }

  isLate(): boolean {
    return this.#deadline !== Number.POSITIVE_INFINITY && Date.now() >= this.#deadline;
  }

  /** `newBudget` makes the budget of an expression during which other expressions are evaluated. */
  newBudget(limit?: number): Budget {
    return { spent: 0, interrupt: this.#interrupt, ...(limit === undefined ? {} : { limit }) };
  }

  startExpression(): void {
    this.#checks = 0;
  }

  /**
   * One expression may take half of the remaining time, so that an expensive one leaves time for the others. The first
   * check of an expression happens when a loop starts; most loops end soon, so the time is read from the second check
   * on.
   */
  #isExpressionOver(): boolean {
    if (this.#checks++ === 0 || this.#deadline === Number.POSITIVE_INFINITY) return false;
    const now = Date.now();
    if (this.#checks === 2) this.#expressionEnd = now + (this.#deadline - now) / 2;
    return now >= this.#expressionEnd;
  }
}
