/** The answer to the question whether every value that a schema accepts meets a constraint. */
export type Answer =
  | { readonly answer: 'yes' }
  /** The old schema seems to accept these values, and they violate the constraint. */
  | { readonly answer: 'no' | 'unknown'; readonly values: readonly unknown[] };

export const YES: Answer = { answer: 'yes' };
