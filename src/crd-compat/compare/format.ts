/** Formats values for messages. */

/** `show` returns a value as JSON, shortened if it is long. */
export function show(value: unknown): string {
  const text = typeof value === 'bigint' ? String(value) : (JSON.stringify(value) ?? 'nothing');
  return text.length > 120 ? `${text.slice(0, 119)}…` : text;
}

/** `quote` returns a rule or another text on one line, in backquotes. */
export function quote(text: string): string {
  const line = text.trim().replace(/\s+/g, ' ');
  return `\`${line.length > 120 ? `${line.slice(0, 119)}…` : line}\``;
}
