/**
 * Parses strings to net.IP and net.CIDR. The libraries also reject zones and IPv4-mapped IPv6 addresses, which Go
 * accepts.
 */
import { CelError } from '../../values.ts';
import { quote } from '../go-text.ts';
import { isMapped, isVersion4, parseAddress } from './address.ts';
import { CIDR, IP } from './values.ts';

const failure = (message: string): CelError => new CelError('invalid_argument', message);
const mapped = (text: string): string => `IPv4-mapped IPv6 address ${quote(text)} is not allowed`;

export function parseIP(text: string): IP | CelError {
  const address = parseAddress(text);
  if (typeof address === 'string') {
    return failure(`IP Address ${quote(text)} parse error during conversion from string: ${address}`);
  }
  if (address.zone !== '') return failure(`IP address ${quote(text)} with zone value is not allowed`);
  return isMapped(address.bytes) ? failure(mapped(text)) : new IP(address.bytes);
}

/** The prefixes of error messages, which differ between Kubernetes and cel-go. */
interface CIDRMessages {
  readonly every: string;
  /** Appended to `every` if the text is not a prefix at all. */
  readonly unreadable: (text: string) => string;
}

export function parseCIDR(text: string, messages: CIDRMessages): CIDR | CelError {
  const parsed = parsePrefix(text);
  if (typeof parsed === 'string') {
    const opening = messages.every + messages.unreadable(text);
    return failure(`${opening}netip.ParsePrefix(${quote(text)}): ${parsed}`);
  }
  return isMapped(parsed.bytes) ? failure(messages.every + mapped(text)) : parsed;
}

function parsePrefix(text: string): CIDR | string {
  const slash = text.lastIndexOf('/');
  if (slash < 0) return "no '/'";
  const address = parseAddress(text.slice(0, slash));
  if (typeof address === 'string') return address;
  if (address.zone !== '') return 'IPv6 zones cannot be present in a prefix';
  const bits = text.slice(slash + 1);
  // Signs and leading zeros are invalid.
  if (!/^(?:0|[1-9][0-9]*)$/.test(bits)) return `bad bits after slash: ${quote(bits)}`;
  if (Number(bits) > (isVersion4(address.bytes) ? 32 : 128)) return 'prefix length out of range';
  return new CIDR(address.bytes, Number(bits));
}
