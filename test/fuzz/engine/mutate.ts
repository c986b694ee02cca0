/** Mutations: an input comes in, a changed copy goes out. They know bytes, tokens and JSON, but no format of ours. */

export interface Random {
  /** An integer from 0 to `limit` - 1. */
  below(limit: number): number;
  pick<T>(values: readonly T[]): T;
}

/** `randomFrom` returns a generator that repeats itself for the same seed (mulberry32). */
export function randomFrom(seed: number): Random {
  let state = seed | 0;
  const next = () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return (mixed ^ (mixed >>> 14)) >>> 0;
  };
  const below = (limit: number) => next() % Math.max(1, limit);
  return { below, pick: (values) => values[below(values.length)] as (typeof values)[number] };
}

export interface Mutator {
  readonly random: Random;
  readonly words: readonly string[];
  /** Another input of the corpus. */
  readonly other: () => Buffer;
  readonly isJson: boolean;
  readonly mostBytes: number;
}

/** `mutate` applies one to eight mutations. */
export function mutate(input: Buffer, mutator: Mutator): Buffer {
  const { random, isJson, mostBytes } = mutator;
  let made = input;
  if (isJson && random.below(3) > 0) made = mutateJson(made, mutator) ?? made;
  else {
    for (let left = 1 << random.below(4); left > 0; left--) {
      made = random.below(2) === 0 ? mutateBytes(made, mutator) : mutateTokens(made, mutator);
    }
  }
  return made.length > mostBytes ? made.subarray(0, mostBytes) : made;
}

const odd = [
  '',
  '\0',
  '\n',
  '\r\n',
  '\t',
  ' ',
  '"',
  "'",
  '\\',
  '{',
  '}',
  '[',
  ']',
  '(',
  ')',
  ':',
  ',',
  '.',
  '-',
  '#',
  '\u00e4',
  '\u2028',
  '\ufeff',
];
const numbers = [
  '0',
  '-0',
  '1',
  '-1',
  '1.0',
  '1e3',
  '1e400',
  '9007199254740993',
  '9223372036854775808',
  '-9223372036854775808',
  '65536',
  '0x10',
  '010',
  'NaN',
];

function mutateBytes(input: Buffer, { random, words, other }: Mutator): Buffer {
  const at = random.below(input.length + 1);
  const length = 1 + random.below(Math.min(32, input.length - at + 1));
  const put = (piece: Buffer, cut: number) => Buffer.concat([input.subarray(0, at), piece, input.subarray(at + cut)]);
  switch (random.below(8)) {
    case 0: {
      const copy = Buffer.from(input);
      if (at < copy.length) copy[at] = (copy[at] ?? 0) ^ (1 << random.below(8));
      return copy;
    }
    case 1:
      return put(Buffer.from([random.below(256)]), random.below(2));
    case 2:
      return put(Buffer.alloc(0), length);
    case 3: {
      const from = random.below(input.length + 1);
      return put(input.subarray(from, from + 1 + random.below(64)), random.below(2) * length);
    }
    case 4:
      return put(Buffer.from(random.pick(words)), random.below(2) * length);
    case 5:
      return put(Buffer.from(random.pick(odd)), random.below(2));
    case 6: {
      const donor = other();
      const from = random.below(donor.length + 1);
      return put(donor.subarray(from, from + 1 + random.below(donor.length)), random.below(2) * input.length);
    }
    default:
      return put(Buffer.from(random.pick(numbers)), random.below(3));
  }
}

const token = /[A-Za-z_][\w./-]*|\d+|[ \t]+|\r?\n|[\s\S]/g;

function mutateTokens(input: Buffer, { random, words, other }: Mutator): Buffer {
  // Latin-1 keeps every byte as it is.
  const tokens = input.toString('latin1').match(token) ?? [''];
  const at = random.below(tokens.length);
  const length = 1 + random.below(Math.min(12, tokens.length - at));
  switch (random.below(6)) {
    case 0:
      tokens[at] = Buffer.from(random.pick(words)).toString('latin1');
      break;
    case 1:
      tokens.splice(at, length);
      break;
    case 2:
      tokens.splice(random.below(tokens.length), 0, ...tokens.slice(at, at + length));
      break;
    case 3: {
      const to = random.below(tokens.length);
      [tokens[at], tokens[to]] = [tokens[to] ?? '', tokens[at] ?? ''];
      break;
    }
    case 4: {
      const donor = other().toString('latin1').match(token) ?? [''];
      const from = random.below(donor.length);
      tokens.splice(at, random.below(2) * length, ...donor.slice(from, from + 1 + random.below(16)));
      break;
    }
    default:
      tokens[at] = random.pick(numbers);
  }
  return Buffer.from(tokens.join(''), 'latin1');
}

interface Place {
  readonly parent: Record<string, unknown>;
  readonly key: string;
}

/** Returns undefined if the input is not JSON. */
function mutateJson(input: Buffer, mutator: Mutator): Buffer | undefined {
  const { random } = mutator;
  const root = { value: parsed(input) };
  if (root.value === undefined) return undefined;
  for (let left = 1 << random.below(3); left > 0; left--) {
    const { parent, key } = random.pick(placesIn(root));
    switch (random.below(6)) {
      case 0:
        if (Array.isArray(parent)) parent.splice(Number(key), 1);
        else if (parent !== (root as Record<string, unknown>)) delete parent[key];
        break;
      case 1:
        parent[Array.isArray(parent) ? String(parent.length) : random.pick(mutator.words)] = structuredClone(
          parent[key],
        );
        break;
      case 2: {
        const donor = random.pick(placesIn({ value: parsed(mutator.other()) ?? null }));
        parent[key] = structuredClone(donor.parent[donor.key]);
        break;
      }
      case 3:
        parent[key] = random.below(2) === 0 ? [parent[key]] : { [random.pick(mutator.words)]: parent[key] };
        break;
      case 4:
        parent[key] = mutatedText(parent[key], mutator);
        break;
      default:
        parent[key] = random.pick<unknown>([null, true, false, 0, -1, 1.5, '', [], {}, random.pick(mutator.words)]);
    }
  }
  const text = JSON.stringify(root.value);
  if (text === undefined) return undefined;
  // JSON.stringify cannot write the numbers that decoders must take care of.
  return Buffer.from(
    random.below(8) > 0 ? text : text.replace(/(?<=[:[,])(?:-?\d+|null|true)(?=[,}\]])/, random.pick(numbers)),
  );
}

const mutatedText = (value: unknown, mutator: Mutator): unknown =>
  typeof value === 'string'
    ? (mutator.random.below(2) === 0 ? mutateBytes : mutateTokens)(Buffer.from(value), mutator).toString('utf8')
    : mutator.random.pick(mutator.words);

function parsed(input: Buffer): unknown {
  try {
    return JSON.parse(input.toString('utf8'));
  } catch {
    return undefined;
  }
}

/** The depth is limited: structuredClone and JSON.stringify recurse. */
function placesIn(root: unknown, places: Place[] = [], depth = 0): Place[] {
  if (typeof root !== 'object' || root === null || depth > 200) return places;
  const parent = root as Record<string, unknown>;
  for (const key of Object.keys(parent)) {
    places.push({ parent, key });
    placesIn(parent[key], places, depth + 1);
  }
  return places;
}
