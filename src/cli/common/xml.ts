/** Elements of XML, with everything in them that XML can write, and nothing that it cannot. */

/** `children` are elements, or text that has gone through `content`. */
export function element(
  name: string,
  attributes: Record<string, string | number>,
  children: readonly string[],
): string {
  const written = Object.entries(attributes).map(([key, value]) => ` ${key}="${content(String(value))}"`);
  const open = `<${name}${written.join('')}`;
  return children.length === 0 ? `${open}/>` : `${open}>${children.join('')}</${name}>`;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what XML has no way at all to write
const UNWRITABLE = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g;

export const content = (text: string): string =>
  text
    .toWellFormed()
    .replace(UNWRITABLE, '\ufffd')
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll('\n', '&#10;');
