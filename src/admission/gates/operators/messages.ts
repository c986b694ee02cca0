/** Helpers for the findings of the operators gate. */
import { type Findings, nothing, type Violation } from '../../review/findings.ts';

/** The maximum number of names in a message. */
export const mostNamed = 5;

export const denying = (violations: readonly Violation[]): Findings =>
  violations.length === 0 ? nothing : { ...nothing, violations };

export const warning = (text: string): string => `operators: ${text}`;
