/** How this gate says what it has found. */
import { type Findings, nothing, type Violation } from '../../review/findings.ts';

/** As many names as somebody reads. */
export const mostNamed = 5;

export const refusing = (violations: readonly Violation[]): Findings =>
  violations.length === 0 ? nothing : { ...nothing, violations };

export const warning = (text: string): string => `operators: ${text}`;
