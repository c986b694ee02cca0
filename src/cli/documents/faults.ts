/**
 * What a YAML parser lets pass or takes forever over, looked for in one walk: keys that come twice or are no words, aliases that lead to
 * themselves, and so many aliases that a small file stands for an endless object. The time is that of the document's length.
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

/** Manifests have a handful. */
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
      // The parser would write it out as text, and what is in it again for each level: hours for a kilobyte of question marks.
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
