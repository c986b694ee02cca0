/** String formats that Kubernetes defines, so that the API server rejects typos. */
import { integerOrText, type Schema, text } from '../schema/index.ts';

const DNS_LABEL = '^[a-z0-9]([-a-z0-9]*[a-z0-9])?$';
const DNS_SUBDOMAIN = '^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$';
const QUANTITY = '^[0-9]+(\\.[0-9]+)?(m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei)?$';
/** Each month has its own last day. A CEL rule checks leap years. */
const MONTH_AND_DAY =
  '((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|(0[469]|11)-(0[1-9]|[12][0-9]|30)|02-(0[1-9]|[12][0-9]))';
const HOUR_AND_MINUTE = '([01][0-9]|2[0-3]):[0-5][0-9]';
const DATE_OR_INSTANT = `^[0-9]{4}-${MONTH_AND_DAY}(T${HOUR_AND_MINUTE}:[0-5][0-9](\\.[0-9]{1,9})?(Z|[+-]${HOUR_AND_MINUTE}))?$`;
/** A four-digit year is divisible by 4 if its last two digits are, and a century year if its first two digits are. */
const LEAP_DAY_IN_LEAP_YEAR = {
  rule: "!self.matches('^[0-9]{4}-02-29') || self.matches('^([0-9]{2}(0[48]|[2468][048]|[13579][26])|([02468][048]|[13579][26])00)-')",
  message: 'must be a valid date: February has no 29th in this year',
};

/** `objectName` is the name of a Kubernetes object. */
export function objectName(description: string): Schema<string> {
  return text(description, { minLength: 1, maxLength: 253, pattern: DNS_SUBDOMAIN });
}

/** `shortName` is a DNS label of at most 63 characters: a namespace, a port, an environment. */
export function shortName(description: string): Schema<string> {
  return text(description, { minLength: 1, maxLength: 63, pattern: DNS_LABEL });
}

/** `quantity` is a resource quantity such as `500m` or `2Gi`. */
export function quantity(description: string): Schema<number | string> {
  return integerOrText(description, { minimum: 0, maxLength: 32, pattern: QUANTITY });
}

/** `dateOrInstant` accepts `2026-01-31` (the beginning of that day, UTC) or `2026-01-31T12:00:00Z`. */
export function dateOrInstant(description: string): Schema<string> {
  return text(description, { maxLength: 40, pattern: DATE_OR_INSTANT }).rules(LEAP_DAY_IN_LEAP_YEAR);
}

/** `identifier` is the name of a variable in an expression. */
export function identifier(description: string): Schema<string> {
  return text(description, { minLength: 1, maxLength: 63, pattern: '^[A-Za-z_][A-Za-z0-9_]*$' });
}

/** `expression` is a CEL expression. */
export function expression(description: string): Schema<string> {
  return text(description, { minLength: 1, maxLength: 16384 });
}

/** `prose` is a line or a paragraph of text. */
export function prose(description: string, maxLength = 1024): Schema<string> {
  return text(description, { maxLength });
}

const SECONDS = '[0-9]{1,9}(\\.[0-9]{1,3})?S';
const TIME = `T([0-9]{1,6}H([0-9]{1,6}M)?(${SECONDS})?|[0-9]{1,6}M(${SECONDS})?|${SECONDS})`;

/** `isoDuration` is an ISO 8601 duration without years and months, whose lengths vary: `PT5M`, `PT24H`, `P7D`. */
export function isoDuration(description: string): Schema<string> {
  return text(description, {
    minLength: 3,
    maxLength: 32,
    pattern: `^P([0-9]{1,4}W|[0-9]{1,4}D(${TIME})?|${TIME})$`,
  });
}

/** `semanticVersion` is a version as in Semantic Versioning 2, with an optional leading `v`, which many charts use. */
export function semanticVersion(description: string): Schema<string> {
  const number = '(0|[1-9][0-9]*)';
  const words = '[0-9A-Za-z-]+(\\.[0-9A-Za-z-]+)*';
  return text(description, {
    minLength: 5,
    maxLength: 128,
    pattern: `^v?${number}\\.${number}\\.${number}(-${words})?(\\+${words})?$`,
  });
}
