/** How values stand in sentences. */

/** As JSON, cut where it would fill a screen. */
export function show(value: unknown): string {
  const text = typeof value === 'bigint' ? String(value) : (JSON.stringify(value) ?? 'nothing');
  return text.length > 120 ? `${text.slice(0, 119)}…` : text;
}

/** A rule or another text of one line, between back quotes. */
export function quote(text: string): string {
  const line = text.trim().replace(/\s+/g, ' ');
  return `\`${line.length > 120 ? `${line.slice(0, 119)}…` : line}\``;
}
