/** IP addresses, CIDR prefixes and MAC addresses, parsed as leniently as the API server does. */
import { parseAddress } from '../../../cel/internal.ts';

/** Numbers may have leading zeros, as in early versions of Kubernetes. An IPv4-mapped IPv6 address counts as IPv4. */
export const isIpv4 = (text: string): boolean =>
  text.includes('.') &&
  (text.indexOf(':') < 0 || text.indexOf('.') < text.indexOf(':') ? isQuad(text) : isGroups(text));

export function isIpv6(text: string): boolean {
  if (!text.includes(':')) return false;
  const address = parseAddress(text);
  return typeof address !== 'string' && address.zone === '';
}

export function isCidr(text: string): boolean {
  const slash = text.indexOf('/');
  if (slash < 0) return false;
  const address = text.slice(0, slash);
  const bits = text.slice(slash + 1);
  const most = isQuad(address) ? 32 : isGroups(address) ? 128 : -1;
  return /^\d+$/.test(bits) && Number(bits) <= most;
}

const isQuad = (text: string): boolean => {
  const parts = text.split('.');
  return parts.length === 4 && parts.every((part) => /^\d+$/.test(part) && Number(part) <= 255);
};

/** An IPv6 address, whose groups may have leading zeros and which may end with an IPv4 address. */
function isGroups(text: string): boolean {
  const halves = text.split('::');
  if (halves.length > 2) return false;
  const groups = halves.map((half) => (half === '' ? [] : half.split(':')));
  const all = groups.flat();
  let size = 0;
  for (const [index, group] of all.entries()) {
    if (index === all.length - 1 && group.includes('.')) {
      if (!isQuad(group)) return false;
      size += 2;
    } else {
      if (!/^[0-9a-fA-F]+$/.test(group) || Number.parseInt(group, 16) > 0xffff) return false;
      size += 1;
    }
  }
  // The double colon stands for at least one group.
  return halves.length === 2 ? size < 8 : size === 8;
}

const MAC_SIZES: ReadonlySet<number> = new Set([6, 8, 20]);

/**
 * 6, 8 or 20 bytes in hexadecimal: in pairs separated by colons or dashes, in groups of four separated by dots, or
 * without separators.
 */
export function isMac(text: string): boolean {
  const separator = text[2] === ':' || text[2] === '-' ? text[2] : text[4] === '.' ? '.' : '';
  const width = separator === '.' ? 4 : 2;
  const parts = separator === '' ? (text.match(/.{1,2}/gs) ?? []) : text.split(separator);
  if (!MAC_SIZES.has((parts.length * width) / 2)) return false;
  return parts.every((part) => part.length === width && /^[0-9a-fA-F]+$/.test(part));
}
