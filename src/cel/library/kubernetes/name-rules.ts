/** Validates names and label values, with the exact error texts of Kubernetes. */
import { utf8Length } from '../../text.ts';

const LABEL = '[a-z0-9]([-a-z0-9]*[a-z0-9])?';
const SUBDOMAIN = `${LABEL}(\\.${LABEL})*`;
const LABEL_1035 = '[a-z]([-a-z0-9]*[a-z0-9])?';
const LABEL_KEY = '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]';
const LABEL_VALUE = `(${LABEL_KEY})?`;

export function dns1123LabelProblems(name: string): readonly string[] {
  const problems = utf8Length(name) > 63 ? [tooManyCharacters(63)] : [];
  if (isLabel(name)) return problems;
  if (isSubdomain(name)) return [...problems, 'must not contain dots'];
  return [
    ...problems,
    ruleBroken(
      "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character",
      LABEL,
      ['my-name', '123-abc'],
    ),
  ];
}

/** `limit` formats the length error: older code of Kubernetes says characters, newer code bytes; both count bytes. */
export function dns1123SubdomainProblems(name: string, limit = tooManyCharacters): readonly string[] {
  const problems = utf8Length(name) > 253 ? [limit(253)] : [];
  if (isSubdomain(name)) return problems;
  return [
    ...problems,
    ruleBroken(
      "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character",
      SUBDOMAIN,
      ['example.com'],
    ),
  ];
}

export function dns1035LabelProblems(name: string): readonly string[] {
  const problems = utf8Length(name) > 63 ? [tooManyCharacters(63)] : [];
  if (isLabel(name) && /^[a-z]/.test(name)) return problems;
  return [
    ...problems,
    ruleBroken(
      "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character",
      LABEL_1035,
      ['my-name', 'abc-123'],
    ),
  ];
}

const KEY_RULE = ruleBroken(
  "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
  LABEL_KEY,
  ['MyName', 'my.name', '123-abc'],
);

/** Validates a label key: a name, optionally with a DNS subdomain and a slash in front. */
export function qualifiedNameProblems(text: string): readonly string[] {
  const parts = text.split('/');
  if (parts.length > 2) {
    return [`a valid label key ${KEY_RULE} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`];
  }
  const problems: string[] = [];
  if (parts.length === 2) {
    const prefix = parts[0] ?? '';
    const wrong = prefix === '' ? ['must be non-empty'] : dns1123SubdomainProblems(prefix, tooManyBytes);
    problems.push(...wrong.map((each) => `prefix part ${each}`));
  }
  const name = parts.at(-1) ?? '';
  if (name === '') problems.push('name part must be non-empty');
  else if (utf8Length(name) > 63) problems.push(`name part ${tooManyBytes(63)}`);
  if (!isLabelKey(name)) problems.push(`name part ${KEY_RULE}`);
  return problems;
}

export function labelValueProblems(value: string): readonly string[] {
  const problems = utf8Length(value) > 63 ? [tooManyBytes(63)] : [];
  if (value === '' || isLabelKey(value)) return problems;
  return [
    ...problems,
    ruleBroken(
      "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
      LABEL_VALUE,
      ['MyValue', 'my_value', '12345'],
    ),
  ];
}

/**
 * A prefix may end in a dash, because more will follow: Kubernetes validates it with the last two bytes replaced by
 * `a`.
 */
export function asPrefix(name: string): string {
  if (name.length < 2 || !name.endsWith('-')) return name;
  const before = name.charCodeAt(name.length - 2);
  // Go cuts bytes, which would leave half of a multi-byte character and make the name invalid. Keeping the whole
  // character does so too.
  return before > 0x7f ? name.slice(0, -1) : `${name.slice(0, -2)}a`;
}

function tooManyCharacters(length: number): string {
  return `must be no more than ${length} characters`;
}

const tooManyBytes = (length: number): string => `must be no more than ${length} bytes`;

function ruleBroken(rule: string, pattern: string, examples: readonly string[]): string {
  return `${rule} (e.g. ${examples.map((example) => `'${example}', `).join(' or ')}regex used for validation is '${pattern}')`;
}

// Each rule lists the allowed characters and those allowed at both ends. This form needs no backtracking.
const LABEL_CHARACTERS = /^[-a-z0-9]+$/;
const LABEL_ENDS = /^[a-z0-9].*[a-z0-9]$|^[a-z0-9]$/s;
const KEY_CHARACTERS = /^[-A-Za-z0-9_.]+$/;
const KEY_ENDS = /^[A-Za-z0-9].*[A-Za-z0-9]$|^[A-Za-z0-9]$/s;

const isLabel = (text: string): boolean => LABEL_CHARACTERS.test(text) && LABEL_ENDS.test(text);
const isSubdomain = (text: string): boolean => text.split('.').every(isLabel);
const isLabelKey = (text: string): boolean => KEY_CHARACTERS.test(text) && KEY_ENDS.test(text);
