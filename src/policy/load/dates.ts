/** Dates as our kinds write them: `2026-01-31` is the beginning of that day in UTC. */

/** The text has the form that the schema says. */
export const milliseconds = (text: string): number => Date.parse(text);
