/**
 * Finds, in one pass, YAML that the parser accepts or takes too long for: duplicate or non-scalar keys, recursive aliases, and so many
 * aliases that a small file expands to a huge object. The time is linear in the length of the document.
 */
import {
  type Alias,
  type Document,
  isAlias,
  isCollection,
  isScalar,
  type Node,
  type Pair,
  visit,
  type YAMLMap,
} from 'yaml';

interface Fault {
  /** For messages that must not quote the document. */
  readonly kind: 'BAD_KEY' | 'DUPLICATE_KEY' | 'TOO_MANY_ALIASES' | 'BAD_ALIAS';
  readonly offset: number;
  readonly message: string;
}

/** The limit of aliases in a document; manifests usually have only a few. */
const MOST_ALIASES = 1000;

/** `faultIn` returns the first fault. With `mayRepeatKeys`, the last of two equal keys counts, as in Helm and Kubernetes. */
export function faultIn(
  document: Document,
  { mayRepeatKeys = false }: { readonly mayRepeatKeys?: boolean } = {},
): Fault | undefined {
  let fault: Fault | undefined;
  let aliases = 0;
  const found = (kind: Fault['kind'], { range }: Node, message: string) => {
    fault = { kind, offset: range?.[0] ?? 0, message };
    return visit.BREAK;
  };
  visit(document, {
    Pair(_key, { key }) {
      // The parser converts such a key to text once for each nesting level: a kilobyte of question marks takes hours.
      if (isCollection(key)) return found('BAD_KEY', key, 'A key must be a scalar, not a list or a map');
      return undefined;
    },
    Map(_key, map) {
      const twice = mayRepeatKeys ? undefined : keyThatComesTwice(map);
      return twice === undefined ? undefined : found('DUPLICATE_KEY', twice, 'Map keys must be unique');
    },
    Alias(_key, alias, path) {
      aliases += 1;
      if (aliases > MOST_ALIASES) {
        return found('TOO_MANY_ALIASES', alias, `There are more than ${MOST_ALIASES} aliases: write out their values`);
      }
      if (isWithinItself(alias, path))
        return found('BAD_ALIAS', alias, `*${alias.source} is an alias to a node that contains it`);
      return undefined;
    },
  });
  return fault;
}

function keyThatComesTwice(map: YAMLMap): Node | undefined {
  const seen = new Set<unknown>();
  for (const { key } of map.items) {
    if (!isScalar(key)) continue;
    if (seen.has(key.value)) return key;
    seen.add(key.value);
  }
  return undefined;
}

function isWithinItself(alias: Alias, path: readonly (Document | Node | Pair)[]): boolean {
  return path.some((around) => 'anchor' in around && !isAlias(around) && around.anchor === alias.source);
}
