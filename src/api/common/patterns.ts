/** The forms of strings that Kubernetes itself gives names to, so that a typo is caught when it is written. */
import { integerOrText, type Schema, text } from '../schema/index.ts';

const DNS_LABEL = '^[a-z0-9]([-a-z0-9]*[a-z0-9])?$';
const DNS_SUBDOMAIN = '^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$';
const QUANTITY = '^[0-9]+(\\.[0-9]+)?(m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei)?$';
/** Every month has its own last day; only which years are leap years is left to a rule. */
const MONTH_AND_DAY =
  '((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|(0[469]|11)-(0[1-9]|[12][0-9]|30)|02-(0[1-9]|[12][0-9]))';
const HOUR_AND_MINUTE = '([01][0-9]|2[0-3]):[0-5][0-9]';
const DATE_OR_INSTANT = `^[0-9]{4}-${MONTH_AND_DAY}(T${HOUR_AND_MINUTE}:[0-5][0-9](\\.[0-9]{1,9})?(Z|[+-]${HOUR_AND_MINUTE}))?$`;
/** A year of four digits can be divided by 4 where its last two can, and a century where its first two can. */
const LEAP_DAY_IN_LEAP_YEAR = {
  rule: "!self.matches('^[0-9]{4}-02-29') || self.matches('^([0-9]{2}(0[48]|[2468][048]|[13579][26])|([02468][048]|[13579][26])00)-')",
  message: 'must be a day of the calendar: February has no 29th in this year',
};

/** The name of an object. */
export function objectName(description: string): Schema<string> {
  return text(description, { minLength: 1, maxLength: 253, pattern: DNS_SUBDOMAIN });
}

/** A name of at most 63 characters without dots: a namespace, a port, an environment. */
export function shortName(description: string): Schema<string> {
  return text(description, { minLength: 1, maxLength: 63, pattern: DNS_LABEL });
}

/** An amount such as `500m` or `2Gi`. */
export function quantity(description: string): Schema<number | string> {
  return integerOrText(description, { minimum: 0, maxLength: 32, pattern: QUANTITY });
}

/** `2026-01-31` (its beginning, in UTC) or `2026-01-31T12:00:00Z`. */
export function dateOrInstant(description: string): Schema<string> {
  return text(description, { maxLength: 40, pattern: DATE_OR_INSTANT }).rules(LEAP_DAY_IN_LEAP_YEAR);
}

/** A variable's name in an expression. */
export function identifier(description: string): Schema<string> {
  return text(description, { minLength: 1, maxLength: 63, pattern: '^[A-Za-z_][A-Za-z0-9_]*$' });
}

/** A CEL expression. */
export function expression(description: string): Schema<string> {
  return text(description, { minLength: 1, maxLength: 16384 });
}

/** One line or paragraph for people. */
export function prose(description: string, maxLength = 1024): Schema<string> {
  return text(description, { maxLength });
}

const SECONDS = '[0-9]{1,9}(\\.[0-9]{1,3})?S';
const TIME = `T([0-9]{1,6}H([0-9]{1,6}M)?(${SECONDS})?|[0-9]{1,6}M(${SECONDS})?|${SECONDS})`;

/** How long something takes, as in ISO 8601 without years and months, whose lengths differ: `PT5M`, `PT24H`, `P7D`. */
export function isoDuration(description: string): Schema<string> {
  return text(description, {
    minLength: 3,
    maxLength: 32,
    pattern: `^P([0-9]{1,4}W|[0-9]{1,4}D(${TIME})?|${TIME})$`,
  });
}

/** A version as in Semantic Versioning 2, with or without the `v` that many charts put before it. */
export function semanticVersion(description: string): Schema<string> {
  const number = '(0|[1-9][0-9]*)';
  const words = '[0-9A-Za-z-]+(\\.[0-9A-Za-z-]+)*';
  return text(description, {
    minLength: 5,
    maxLength: 128,
    pattern: `^v?${number}\\.${number}\\.${number}(-${words})?(\\+${words})?$`,
  });
}
