/** The state of one validation: its place in the value, and the faults found so far. */
import type { Correlation } from './correlation.ts';
import { type Fault, pathText, type Step } from './fault.ts';

export class Run {
  readonly faults: Fault[] = [];
  readonly #path: Step[] = [];

  fault(keyword: string, message: string, rule?: string): void {
    const path = pathText(this.#path);
    this.faults.push(rule === undefined ? { path, keyword, message } : { path, keyword, message, rule });
  }

  faultAt(step: Step, keyword: string, message: string): void {
    this.enter(step);
    this.fault(keyword, message);
    this.leave();
  }

  enter(step: Step): void {
    this.#path.push(step);
  }

  leave(): void {
    this.#path.pop();
  }

  get path(): readonly Step[] {
    return this.#path;
  }

  get atRoot(): boolean {
    return this.#path.length === 0;
  }

  /** Drops all faults after the first `count`; returns whether there were any. */
  forget(count: number): boolean {
    const found = this.faults.length > count;
    this.faults.length = count;
    return found;
  }
}

/** Checks a value. `correlation` is the old value, if it is known and can excuse faults. */
export type Check = (value: unknown, run: Run, correlation: Correlation | undefined) => void;
