/** Formats with a check digit: ISBN and credit card numbers. */

export const isIsbn10 = (text: string): boolean => {
  const digits = withoutGaps(text);
  if (!/^(?:\d{9}X|\d{10})$/.test(digits)) return false;
  let sum = 0;
  for (const [index, digit] of [...digits].entries()) sum += (index + 1) * (digit === 'X' ? 10 : Number(digit));
  return sum % 11 === 0;
};

export const isIsbn13 = (text: string): boolean => {
  const digits = withoutGaps(text);
  if (!/^\d{13}$/.test(digits)) return false;
  let sum = 0;
  for (const [index, digit] of [...digits].entries()) sum += Number(digit) * (index % 2 === 0 ? 1 : 3);
  return sum % 10 === 0;
};

const withoutGaps = (text: string): string => text.replace(/[\t\n\f\r -]+/g, '');

const CARDS =
  /^(?:4\d{12}(?:\d{3})?|5[1-5]\d{14}|6(?:011|5\d\d)\d{12}|3[47]\d{13}|3(?:0[0-5]|[68]\d)\d{11}|(?:2131|1800|35\d{3})\d{11})$/;

/** Characters other than digits are ignored. */
export function isCreditCard(text: string): boolean {
  const digits = text.replace(/\D+/g, '');
  if (!CARDS.test(digits)) return false;
  let sum = 0;
  for (const [index, digit] of [...digits].reverse().entries()) {
    const value = index % 2 === 0 ? Number(digit) : 2 * Number(digit);
    sum += value > 9 ? value - 9 : value;
  }
  return sum % 10 === 0;
}
