/** Writes selectors as CEL expressions, for systems that have no field for them. */
import { literal, type Value } from '../../cel/index.ts';
import type { LabelSelector } from '../world.ts';

/**
 * Writes JSON data as an expression. Elements of different types are wrapped in dyn(), because Kubernetes rejects mixed
 * literals.
 */
export function jsonLiteral(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map((each) => `dyn(${jsonLiteral(each)})`).join(', ')}]`;
  if (typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype) {
    const entries = Object.entries(value).map(([key, each]) => `${literal(key)}: dyn(${jsonLiteral(each)})`);
    return `{${entries.join(', ')}}`;
  }
  return literal(value as Value);
}

const texts = (values: readonly string[]): string => `[${values.map((each) => literal(each)).join(', ')}]`;

export const any = (...terms: readonly string[]): string => joined(terms, '||', 'false');
export const all = (...terms: readonly string[]): string => joined(terms, '&&', 'true');
export const not = (term: string): string => `!(${term})`;

function joined(terms: readonly string[], operator: string, nothing: string): string {
  const [first = nothing, ...others] = terms;
  return others.length === 0 ? first : terms.map((each) => `(${each})`).join(` ${operator} `);
}

/** Request fields that may be absent if they are empty. */
export const NAME = "request.?name.orValue('')";
export const NAMESPACE = "request.?namespace.orValue('')";
const SUBRESOURCE = "request.?subResource.orValue('')";
const USER = "request.userInfo.?username.orValue('')";
const GROUPS = 'request.userInfo.?groups.orValue([])';

/** `oneOf` matches a text against patterns with `*` and `?`. */
export function oneOf(subject: string, patterns: readonly string[]): string {
  const exact = patterns.filter((each) => !/[*?]/.test(each));
  const open = patterns.filter((each) => /[*?]/.test(each));
  return any(
    ...(exact.length === 0 ? [] : [`${subject} in ${texts(exact)}`]),
    ...open.map((each) => (/^\*+$/.test(each) ? 'true' : `${subject}.matches(${literal(globPattern(each))})`)),
  );
}

function globPattern(glob: string): string {
  const escaped = glob.replace(/[.+^${}()|[\]\\]/g, '\\$&');
  return `^${escaped.replaceAll('*', '.*').replaceAll('?', '.')}$`;
}

export const usersAre = (patterns: readonly string[]): string => oneOf(USER, patterns);
export const groupsHave = (patterns: readonly string[]): string => `${GROUPS}.exists(g, ${oneOf('g', patterns)})`;
export const serviceAccountsAre = (patterns: readonly string[]): string =>
  oneOf(
    USER,
    patterns.map((each) => `system:serviceaccount:${each.replace('/', ':')}`),
  );

export const operationsAre = (operations: readonly string[]): string => `request.operation in ${texts(operations)}`;

/** `typeIs` matches the type of a request by its resource. */
export function typeIs(type: {
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly subresource?: string | undefined;
}): string {
  const { group, version, resource, subresource } = type;
  return all(
    ...(group === '*' ? [] : [oneOf('request.resource.group', [group])]),
    ...(version === '*' ? [] : [oneOf('request.resource.version', [version])]),
    ...(resource === '*' ? [] : [`request.resource.resource == ${literal(resource)}`]),
    ...(subresource === '*' ? [] : [`${SUBRESOURCE} == ${literal(subresource ?? '')}`]),
  );
}

export const isNamespaced = `${NAMESPACE} != '' && request.resource.resource != 'namespaces'`;

/** `labelsFit` matches the labels of the object or the old object; one match is enough. */
export function labelsFit(selector: LabelSelector): string {
  const wears = (subject: string): string => `${subject} != null && ${all(...requirements(subject, selector))}`;
  return any(wears('object'), wears('oldObject'));
}

/** `labelsFitBoth` matches the labels of the object and the old object, if both exist; exclusions use it. */
export function labelsFitBoth(selector: LabelSelector): string {
  const wears = (subject: string): string => any(`${subject} == null`, all(...requirements(subject, selector)));
  return all(wears('object'), wears('oldObject'));
}

function requirements(subject: string, { matchLabels = {}, matchExpressions = [] }: LabelSelector): readonly string[] {
  const label = (key: string): string => `${subject}.?metadata.?labels[?${literal(key)}]`;
  const isIn = (key: string, values: readonly string[]): string =>
    `${label(key)}.hasValue() && ${label(key)}.value() in ${texts(values)}`;
  return [
    ...Object.entries(matchLabels).map(([key, value]) => isIn(key, [value])),
    ...matchExpressions.map(({ key, operator, values = [] }) => {
      switch (operator) {
        case 'In':
          return isIn(key, values);
        case 'NotIn':
          return not(isIn(key, values));
        case 'Exists':
          return `${label(key)}.hasValue()`;
        default:
          return not(`${label(key)}.hasValue()`);
      }
    }),
  ];
}
