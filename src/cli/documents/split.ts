/** A text of several YAML documents, taken apart. */
import { SourceDocument } from './document.ts';

const MARKER = /^(?:---(?=[ \t\r\n]|$)|\.\.\.[ \t\r]*(?:\n|$))/gm;
const ONLY_DIRECTIVES = /^(?:[ \t]*(?:#[^\n]*)?\n|%[^\n]*\n)*%[^\n]*\n(?:[ \t]*(?:#[^\n]*)?\n)*$/;

/** Cut at the lines that end a document; no text inside a document can look like one. */
export function documentsOf(file: string, text: string): SourceDocument[] {
  const lines = lineIndex(text);
  const documents: SourceDocument[] = [];
  let start = 0;
  const cut = (end: number, next: number) => {
    const part = text.slice(start, end);
    // Directives belong to the document after them.
    if (ONLY_DIRECTIVES.test(part)) return;
    const from = start;
    if (/\S/.test(part)) documents.push(new SourceDocument(file, part, () => lines(from)));
    start = next;
  };
  for (const { 0: marker, index } of text.matchAll(MARKER)) {
    if (marker === '---') cut(index, index);
    else cut(index, index + marker.length);
  }
  cut(text.length, text.length);
  return documents;
}

/** How many line breaks there are before an offset. The index is made once, when somebody asks. */
function lineIndex(text: string): (offset: number) => number {
  let breaks: number[] | undefined;
  return (offset) => {
    if (offset === 0) return 0;
    if (breaks === undefined) {
      breaks = [];
      for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) breaks.push(at);
    }
    let [low, high] = [0, breaks.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((breaks[middle] ?? 0) < offset) low = middle + 1;
      else high = middle;
    }
    return low;
  };
}
