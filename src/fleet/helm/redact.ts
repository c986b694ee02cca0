/**
 * Redacts messages of Helm and API servers. They quote values ("Invalid value: …", "parsing …") that may be secret, so
 * a quoted text is kept only if it is known to be harmless, such as the name of an object.
 */
import { plainLine } from '../../runtime/internal.ts';

interface Known {
  /** Words that may be shown: names, kinds, keys. */
  readonly words: ReadonlySet<string>;
  /** Public texts: a quotation that occurs in one of them is shown. */
  readonly texts?: readonly string[];
  /** Never shown, anywhere. */
  readonly secrets?: readonly string[];
}

const hidden = '…';
const longest = 1024;
/** An apostrophe within a word is not a quotation mark. */
const QUOTED = /"(?:[^"\\]|\\.)*"|`[^`]*`|(?<=^|[\s(:,[])'[^']*'(?=$|[\s),.:;\]])/g;
/** The name of a webhook comes from its configuration and says who denied the request. */
const OF_A_WEBHOOK = /webhook\s*$/;
/** A quoted text ends at its closing quote: it may contain a colon. */
const INVALID = /(Invalid value: )(?:"(?:[^"\\]|\\.)*"|(?:[^:]|:(?! ))*)/g;
/** The notation of the API server for a field of the wrong type. */
const TYPED = /(valueUnstructured\{Value:)[^}]*/g;

/** `redactSecrets` returns one redacted line. */
export function redactSecrets(message: string, { words, texts = [], secrets = [] }: Known): string {
  let said = folded(message);
  for (const secret of bySize(secrets)) said = said.replaceAll(secret, hidden);
  said = said.replace(INVALID, `$1${hidden}`).replace(TYPED, `$1${hidden}`);
  said = said.replace(QUOTED, (quoted, at: number) => {
    const inside = quoted.slice(1, -1);
    const mayBeShown =
      words.has(inside) ||
      inside.split(/[/.]/).every((part) => part === '' || words.has(part)) ||
      texts.some((text) => inside !== '' && text.includes(inside)) ||
      OF_A_WEBHOOK.test(said.slice(0, at));
    return mayBeShown ? quoted : `${quoted[0]}${hidden}${quoted[0]}`;
  });
  return said.length > longest ? `${said.slice(0, longest)}${hidden}` : said;
}

/**
 * The secrets as they can occur in one line: whole, and line by line. Longer ones first, so that no part remains. Very
 * short ones occur in every text and are not secret.
 */
const bySize = (secrets: readonly string[]): string[] =>
  [...new Set(secrets.flatMap((secret) => [secret, ...secret.split(/[\r\n]+/)]).map(folded))]
    .filter((secret) => secret.length >= 4)
    .sort((one, other) => other.length - one.length);

const folded = (text: string): string => plainLine(text).replace(/\s+/g, ' ').trim();
