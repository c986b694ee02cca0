/** Doc comments as Markdown. */

/** Returns the text of a doc comment without its frame, indentation kept. */
export function commentText(comment: string): string {
  return comment
    .replace(/^\/\*\*/, '')
    .replace(/\*\/$/, '')
    .split('\n')
    .map((line) => line.replace(/^\s*\* ?/, '').trimEnd())
    .join('\n')
    .trim();
}

/** Returns the doc comment that opens a file, or an empty text. */
export function openingComment(text: string): string {
  const match = /^(?:#!.*\n)?(\/\*\*[\s\S]*?\*\/)/.exec(text);
  return match?.[1] === undefined ? '' : commentText(match[1]);
}

/** Returns the first sentence of the comment that opens a file, in one line, without its full stop. */
export function openingSentence(text: string): string {
  const words = openingComment(text).replace(/\s+/g, ' ');
  return (/^.*?[.:](?=\s|$)/.exec(words)?.[0] ?? words).replace(/[.:]$/, '');
}
