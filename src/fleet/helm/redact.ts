/**
 * What Helm and the API servers say, without what they quote. Their messages repeat values ("Invalid value: …", "parsing …"), and a
 * value may be a secret: so what is quoted stays only where it is known not to be one, such as the name of an object.
 */

interface Known {
  /** Words that may be shown: names, kinds, keys. */
  readonly words: ReadonlySet<string>;
  /** Texts that anybody may read: what is quoted and stands in one of them is shown. */
  readonly texts?: readonly string[];
  /** Never shown, wherever they stand. */
  readonly secrets?: readonly string[];
}

const hidden = '…';
const longest = 1024;
/** An apostrophe within a word quotes nothing. */
const QUOTED = /"(?:[^"\\]|\\.)*"|`[^`]*`|(?<=^|[\s(:,[])'[^']*'(?=$|[\s),.:;\]])/g;
/** The name of a webhook is its configuration's, and says who has refused. */
const OF_A_WEBHOOK = /webhook\s*$/;
/** A text ends where its quotes do: it may have a colon in it. */
const INVALID = /(Invalid value: )(?:"(?:[^"\\]|\\.)*"|(?:[^:]|:(?! ))*)/g;
/** How the API server shows a field of another type than it should have. */
const TYPED = /(valueUnstructured\{Value:)[^}]*/g;

/** One line. */
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
 * As they may stand in one line: whole, and each of their lines. The longer first, or a part of one would be left. Very short ones are
 * in every text, and no secrets.
 */
const bySize = (secrets: readonly string[]): string[] =>
  [...new Set(secrets.flatMap((secret) => [secret, ...secret.split(/[\r\n]+/)]).map(folded))]
    .filter((secret) => secret.length >= 4)
    .sort((one, other) => other.length - one.length);

const folded = (text: string): string => text.replace(/\s+/g, ' ').trim();
