/** Dates of the platform's kinds: `2026-01-31` is the start of that day in UTC. */

/** `milliseconds` parses a date; the schema guarantees its form. */
export const milliseconds = (text: string): number => Date.parse(text);
