/** Generates literals and other atomic expressions, with one function per type. */
import type { Type } from '../../../src/cel/index.ts';
import type { Choices } from './choices.ts';
import { type SampleName, samples } from './samples.ts';

const ints = ['1', '0', '2', '-1', '3', '7', '10', '100', '-5', '0x1F', '255', '1000'];
const extremeInts = ['9223372036854775807', '-9223372036854775808', '9007199254740993', '4294967296', '-2147483649'];
const uints = ['1u', '0u', '2u', '5u', '0xFFu', '1000u', '18446744073709551615u'];
const doubles = ['1.0', '0.0', '1.5', '-2.5', '1e3', '0.1', '.5', '1e-3', '-0.0', '1e308', '9007199254740993.0'];
const oddDoubles = ["double('NaN')", "double('Infinity')", "double('-Infinity')"];
const bytes = ["b'abc'", "b''", "b'\\xff\\x00'", "b'ÿ'", "b'\\377'", "br'\\n'", "B'a'"];
const types = [
  'int',
  'string',
  'bool',
  'list',
  'map',
  'type(null)',
  'google.protobuf.Timestamp',
  'type(type)',
  'bytes',
];

/** The simplest expressions of types without literals. */
const opaques: Readonly<Record<string, readonly string[]>> = {
  'kubernetes.Quantity': ["quantity('1Gi')", "quantity('500m')", "quantity('2')", "quantity('3k')", "quantity('-1.5')"],
  'net.IP': ["ip('127.0.0.1')", "ip('2001:db8::1')", "ip('10.0.0.1')"],
  'net.CIDR': ["cidr('10.0.0.0/8')", "cidr('192.168.1.7/24')", "cidr('2001:db8::/32')"],
  'kubernetes.URL': ["url('https://example.com:80/a?b=c')", "url('/p')"],
  'kubernetes.Semver': ["semver('1.2.3')", "semver('1.0.0-alpha')", "semver('v2', true)"],
  'kubernetes.NamedFormat': ['format.dns1123Label()', 'format.uuid()', 'format.date()', 'format.uri()'],
  'kubernetes.authorization.Authorizer': ['authorizer', "authorizer.serviceAccount('default', 'sa')"],
  'kubernetes.authorization.PathCheck': ["authorizer.path('/healthz')"],
  'kubernetes.authorization.GroupCheck': ["authorizer.group('apps')"],
  'kubernetes.authorization.ResourceCheck': ["authorizer.group('').resource('pods')", 'authorizer.requestResource'],
  'kubernetes.authorization.Decision': [
    "authorizer.path('/healthz').check('get')",
    "authorizer.requestResource.check('get')",
  ],
};

/** Returns an atomic expression of the type, or undefined for composite types (lists, maps, optionals). */
export function leaf(choices: Choices, of: Type): string | undefined {
  switch (of.kind) {
    case 'null':
      return 'null';
    case 'bool':
      return choices.pick(['true', 'false']);
    case 'int':
      return choices.chance(6) ? choices.pick(extremeInts) : choices.pick(ints);
    case 'uint':
      return choices.pick(uints);
    case 'double':
      return choices.chance(8) ? choices.pick(oddDoubles) : choices.pick(doubles);
    case 'string':
      return quote(choices, choices.pick(samples.words));
    case 'bytes':
      return choices.pick(bytes);
    case 'timestamp':
      return `timestamp(${quote(choices, choices.pick(samples.timestamps))})`;
    case 'duration':
      return `duration(${quote(choices, choices.pick(samples.durations))})`;
    case 'type':
      return choices.pick(types);
    case 'object':
    case 'opaque':
      return opaques[of.name] === undefined ? undefined : choices.pick(opaques[of.name] as readonly string[]);
    default:
      return undefined;
  }
}

/** Which samples the string arguments of a function are taken from, by position (0 is the receiver of a member). */
const wanted: Readonly<Record<string, Readonly<Record<number, readonly SampleName[]>>>> = {
  quantity: { 0: ['quantities', 'badQuantities'] },
  isQuantity: { 0: ['quantities', 'badQuantities'] },
  ip: { 0: ['addresses', 'badAddresses'] },
  isIP: { 0: ['addresses', 'badAddresses'] },
  'ip.isCanonical': { 0: ['addresses', 'badAddresses'] },
  cidr: { 0: ['networks', 'badNetworks'] },
  isCIDR: { 0: ['networks', 'badNetworks'] },
  containsIP: { 1: ['addresses', 'badAddresses'] },
  containsCIDR: { 1: ['networks', 'badNetworks'] },
  url: { 0: ['urls', 'badUrls'] },
  isURL: { 0: ['urls', 'badUrls'] },
  semver: { 0: ['versions', 'looseVersions', 'badVersions'] },
  isSemver: { 0: ['versions', 'looseVersions', 'badVersions'] },
  timestamp: { 0: ['timestamps', 'badNumbers'] },
  duration: { 0: ['durations', 'badNumbers'] },
  int: { 0: ['numbers', 'badNumbers'] },
  uint: { 0: ['numbers', 'badNumbers'] },
  double: { 0: ['numbers', 'badNumbers'] },
  bool: { 0: ['booleans', 'badNumbers'] },
  matches: { 0: ['words'], 1: ['patterns', 'badPatterns'] },
  find: { 0: ['words'], 1: ['patterns', 'badPatterns'] },
  findAll: { 0: ['words'], 1: ['patterns', 'badPatterns'] },
  contains: { 0: ['words'], 1: ['parts'] },
  startsWith: { 0: ['words'], 1: ['parts'] },
  endsWith: { 0: ['words'], 1: ['parts'] },
  indexOf: { 0: ['words'], 1: ['parts'] },
  lastIndexOf: { 0: ['words'], 1: ['parts'] },
  split: { 0: ['words'], 1: ['parts'] },
  join: { 1: ['parts'] },
  replace: { 0: ['words'], 1: ['parts'], 2: ['parts'] },
  charAt: { 0: ['words'] },
  substring: { 0: ['words'] },
  'jsonpatch.escapeKey': { 0: ['keys'] },
  'format.named': { 0: ['formatNames'] },
  validate: { 1: ['formatted'] },
  group: { 1: ['groups'] },
  resource: { 1: ['resources'] },
  subresource: { 1: ['groups'] },
  namespace: { 1: ['names'] },
  name: { 1: ['names'] },
  path: { 1: ['paths', 'groups'] },
  check: { 1: ['verbs'] },
  fieldSelector: { 1: ['selectors'] },
  labelSelector: { 1: ['selectors'] },
  serviceAccount: { 1: ['accounts', 'names'], 2: ['accounts', 'names'] },
};
for (const part of [
  'Date',
  'DayOfMonth',
  'DayOfWeek',
  'DayOfYear',
  'FullYear',
  'Hours',
  'Milliseconds',
  'Minutes',
  'Month',
  'Seconds',
]) {
  (wanted as Record<string, unknown>)[`get${part}`] = { 1: ['zones', 'badZones'] };
}

/** Functions whose int arguments are positions or counts: large ones would only give errors. */
const positional = new Set([
  'charAt',
  'substring',
  'slice',
  'indexOf',
  'lastIndexOf',
  'replace',
  'split',
  'lists.range',
  'flatten',
  'findAll',
  '_[_]',
  '_[?_]',
]);

/** A literal that makes sense as argument `position` of `name`, or undefined where any of the type does. */
export function argument(choices: Choices, name: string, position: number, of: Type): string | undefined {
  // Always: cel-go makes the list before it counts its cost, and a list of 2^32 elements takes the oracle's memory.
  if (name === 'lists.range') return choices.pick(['3', '0', '1', '5', '-1', '20']);
  if (of.kind === 'int' && positional.has(name) && !choices.chance(10))
    return choices.pick(['0', '0', '0', '1', '1', '2', '3', '-1']);
  if (of.kind !== 'string') return undefined;
  const names = wanted[name]?.[position];
  // The first sample names what is right, the others what is nearly right.
  if (names === undefined) return undefined;
  const [right, ...nearly] = names;
  const from = nearly.length > 0 && choices.chance(12) ? choices.pick(nearly) : (right as SampleName);
  return quote(choices, choices.pick(samples[from]));
}

/** `text` as a literal, in one of the ways to write it. */
export function quote(choices: Choices, text: string): string {
  const body = [...text].map((each) => escaped(choices, each)).join('');
  switch (choices.below(10)) {
    case 7:
      return `"${body.replaceAll("\\'", "'").replaceAll('"', '\\"')}"`;
    case 8:
      return `'''${body}'''`;
    case 9:
      return /['\\\n\r]/.test(text) ? `'${body}'` : `r'${text}'`;
    default:
      return `'${body}'`;
  }
}

function escaped(choices: Choices, character: string): string {
  const code = character.codePointAt(0) as number;
  if (character === "'" || character === '\\') return `\\${character}`;
  if (character === '\n') return '\\n';
  if (character === '\t') return '\\t';
  if (code < 0x20) return `\\x${code.toString(16).padStart(2, '0')}`;
  if (!choices.chance(4)) return character;
  if (code < 0x100 && code < 0x80) return `\\${code.toString(8).padStart(3, '0')}`;
  return code > 0xffff ? `\\U${code.toString(16).padStart(8, '0')}` : `\\u${code.toString(16).padStart(4, '0')}`;
}
