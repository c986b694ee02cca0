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
  readonly offset: number;
  readonly message: string;
}

/** The limit of aliases in a document; manifests usually have only a few. */
const MOST_ALIASES = 1000;

export function faultIn(document: Document): Fault | undefined {
  let fault: Fault | undefined;
  let aliases = 0;
  const found = (offset: number | undefined, message: string) => {
    fault = { offset: offset ?? 0, message };
    return visit.BREAK;
  };
  visit(document, {
    Pair(_key, { key }) {
      // The parser converts such a key to text once for each nesting level: a kilobyte of question marks takes hours.
      if (isCollection(key)) return found(key.range?.[0], 'A key must be a scalar, not a list or a map');
      return undefined;
    },
    Map(_key, map) {
      const twice = keyThatComesTwice(map);
      return twice === undefined ? undefined : found(twice.range?.[0], 'Map keys must be unique');
    },
    Alias(_key, alias, path) {
      aliases += 1;
      if (aliases > MOST_ALIASES) {
        return found(alias.range?.[0], `There are more than ${MOST_ALIASES} aliases: write out their values`);
      }
      if (isWithinItself(alias, path))
        return found(alias.range?.[0], `*${alias.source} is an alias to a node that contains it`);
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
