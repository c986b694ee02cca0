import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import {
  compile,
  environment,
  format,
  formatIssues,
  NonValue,
  parse,
  show,
  types,
  type Value,
} from '../../../src/cel/index.ts';
import { ensure } from '../engine/explore.ts';
import type { Target } from '../engine/target.ts';

const env = environment('extended', { variables: { object: types.DYN, oldObject: types.DYN, request: types.DYN } });
const object: Value = {
  metadata: { name: 'web', labels: { app: 'web' } },
  spec: { replicas: 3, list: [1, 2, 3], names: ['a', 'b'], empty: {}, text: '1Gi', time: '2026-01-01T00:00:00Z' },
};
const variables = {
  object,
  oldObject: null,
  request: { userInfo: { username: 'u', groups: ['g'] }, operation: 'CREATE' },
};
const options = { macros: env.macros, ...env.language };
/** Low, because a nested loop would otherwise use most of the time. */
const costLimit = 20_000;

export const target: Target = {
  about: 'CEL: parse, check, format, and evaluate with both back ends',
  modules: ['src/cel/'],
  words: [
    'object.spec',
    '.all(',
    '.exists(',
    '.map(',
    '.filter(',
    'has(',
    ' && ',
    ' || ',
    ' in ',
    ' ? ',
    ' : ',
    '.?',
    '[?',
    'cel.bind(',
    'quantity(',
    'ip(',
    'cidr(',
    'url(',
    'b"',
    "r'",
    '"""',
    '\\u',
    '0x',
    'u',
    'optional.of(',
    'duration(',
    'timestamp(',
    '.matches(',
    '.format([',
    'semver(',
    '1e9',
    '// ',
  ],
  mostBytes: 1_024,
  seeds: () => [
    ...policyExpressions(),
    'object.spec.list.all(i, i > 0) && object.spec.names.exists_one(n, n == "a")',
    'cel.bind(x, object.spec.replicas, x * x + x / 2 - x % 3)',
    'object.?spec.?missing.orValue({"a": [1u, 2.5, b"\\xff", null, true]})',
    'quantity(object.spec.text).isGreaterThan(quantity("1Mi")) || duration("1h") > duration("60m")',
    'timestamp(object.spec.time).getFullYear() == 2026 ? "%s %d".format(["a", 1]) : \'\'',
    'ip("10.0.0.1").family() == 4 && cidr("10.0.0.0/8").containsIP("10.1.2.3") && url("https://a:1/b?c=d").getHost() == "a:1"',
    'object.metadata.name.matches("^[a-z]([-a-z0-9]*[a-z0-9])?$") && [[1], [2, 3]].map(l, l.size()).sum() == 3',
    '{"a": 1}.transformMap(k, v, v + 1)["a"] == 2 && object.spec.list.transformList(i, v, i * v) == [0, 2, 6]',
    'type(1) == int && string(1.5) == "1.5" && int("3") == 3 && dyn([1, "a"])[1] == "a"',
    '"a,b".split(",").join("-").upperAscii().replace("A", "x").substring(1).indexOf("B")',
    'optional.of(1).optMap(v, v + 1).value() + optional.none().or(optional.of(2)).value()',
    'isSemver("1.2.3") && semver("1.2.3").isLessThan(semver("1.3.0")) && format.dns1123Label().validate("a").hasValue()',
    'sets.contains([1, 2], [2]) && math.greatest(1, 2) == 2 && base64.encode(b"a") == "YQ=="',
  ],
  run(input) {
    const text = input.toString('utf8');
    const parsed = parse(text, options);
    if (parsed.ast === undefined) {
      ensure(parsed.issues.length > 0, 'a rejected expression has an issue');
      ensure(formatIssues(parsed.source, parsed.issues) !== '', 'an issue has a text');
    } else {
      const written = format(parsed.ast);
      const again = parse(written, options);
      ensure(again.ast !== undefined, 'a formatted expression parses', () => written);
      ensure(isDeepStrictEqual(meaning(again.ast), meaning(parsed.ast)), 'formatting keeps the meaning', () => written);
      const rewritten = format(again.ast);
      ensure(rewritten === written, 'formatting again changes nothing', () => `${written} / ${rewritten}`);
    }
    const code = compile(text, env, { backend: 'code', costLimit });
    if (code.evaluate === undefined) {
      ensure(code.message !== '', 'a rejected expression has a message');
      return;
    }
    const closures = compile(text, env, { backend: 'closures', costLimit });
    ensure(closures.evaluate !== undefined, 'both back ends compile an expression');
    const [one, other] = [code.evaluate(variables), closures.evaluate(variables)];
    ensure(shown(one) === shown(other), 'both back ends agree', () => `${shown(one)} / ${shown(other)}`);
  },
};

/** The tree without places in the source. */
function meaning(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(meaning);
  if (typeof node !== 'object' || node === null || Object.getPrototypeOf(node) !== Object.prototype) return node;
  const { id, offset, start, end, ...rest } = node as Record<string, unknown>;
  return Object.fromEntries(Object.entries(rest).map(([key, each]) => [key, meaning(each)]));
}

const shown = (result: unknown): string =>
  result instanceof NonValue
    ? `${result.constructor.name} ${String((result as { message?: string }).message)}`
    : show(result as Value);

function policyExpressions(): string[] {
  const folder = join(import.meta.dirname, '..', '..', '..', 'policies');
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.yaml'))
    .flatMap((file) => [...readFileSync(join(folder, file), 'utf8').matchAll(/^ *(?:- )?expression: (.{1,300})$/gm)])
    .map(([, text = '']) => text.replace(/^(['"])(.*)\1$/, '$2').replaceAll("''", "'"))
    .slice(0, 40);
}
