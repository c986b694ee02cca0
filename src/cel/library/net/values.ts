/** The value types net.IP and net.CIDR. */
import { opaque } from '../../types.ts';
import { type CelError, noSuchOverload, TypeValue, type Value } from '../../values.ts';
import { ComparedValue } from '../opaque.ts';
import { formatAddress, groupAt, isVersion4 } from './address.ts';

export const IP_TYPE = opaque('net.IP');
export const CIDR_TYPE = opaque('net.CIDR');

const IP_RUNTIME_TYPE = new TypeValue('net.IP');
const CIDR_RUNTIME_TYPE = new TypeValue('net.CIDR');

export class IP extends ComparedValue {
  override readonly type = IP_RUNTIME_TYPE;
  readonly bytes: Uint8Array;

  constructor(bytes: Uint8Array) {
    super();
    this.bytes = bytes;
  }

  override equalsOrError(other: Value): boolean | CelError {
    return other instanceof IP ? sameBytes(this.bytes, other.bytes) : noSuchOverload();
  }

  override size(): number {
    return this.bytes.length;
  }

  override toString(): string {
    return formatAddress(this.bytes);
  }

  get family(): 4 | 6 {
    return isVersion4(this.bytes) ? 4 : 6;
  }

  get isUnspecified(): boolean {
    return this.bytes.every((byte) => byte === 0);
  }

  get isLoopback(): boolean {
    if (this.family === 4) return this.bytes[0] === 127;
    return this.bytes.every((byte, index) => byte === (index === 15 ? 1 : 0));
  }

  get isLinkLocalMulticast(): boolean {
    const [first, second, third] = this.bytes;
    if (this.family === 4) return first === 224 && second === 0 && third === 0;
    return (groupAt(this.bytes, 0) & 0xff0f) === 0xff02;
  }

  get isLinkLocalUnicast(): boolean {
    if (this.family === 4) return this.bytes[0] === 169 && this.bytes[1] === 254;
    return (groupAt(this.bytes, 0) & 0xffc0) === 0xfe80;
  }

  get #isMulticast(): boolean {
    return this.family === 4 ? ((this.bytes[0] ?? 0) & 0xf0) === 0xe0 : this.bytes[0] === 0xff;
  }

  /** Private addresses count as global unicast, as in Go. */
  get isGlobalUnicast(): boolean {
    if (this.family === 4 && this.bytes.every((byte) => byte === 255)) return false;
    return !this.isUnspecified && !this.isLoopback && !this.#isMulticast && !this.isLinkLocalUnicast;
  }
}

export class CIDR extends ComparedValue {
  override readonly type = CIDR_RUNTIME_TYPE;
  readonly bytes: Uint8Array;
  /** The length of the prefix in bits. */
  readonly bits: number;

  constructor(bytes: Uint8Array, bits: number) {
    super();
    this.bytes = bytes;
    this.bits = bits;
  }

  override equalsOrError(other: Value): boolean | CelError {
    if (!(other instanceof CIDR)) return noSuchOverload();
    return this.bits === other.bits && sameBytes(this.bytes, other.bytes);
  }

  override size(): number {
    return Math.ceil(this.bits / 8);
  }

  override toString(): string {
    return `${formatAddress(this.bytes)}/${this.bits}`;
  }

  get ip(): IP {
    return new IP(this.bytes);
  }

  /** Returns the network with the bits after the prefix cleared. */
  masked(): CIDR {
    const bytes = this.bytes.slice();
    for (let index = 0; index < bytes.length; index++) bytes[index] = (bytes[index] ?? 0) & maskAt(this.bits, index);
    return new CIDR(bytes, this.bits);
  }

  containsIP(address: IP): boolean {
    return samePrefix(this.bytes, address.bytes, this.bits);
  }

  containsCIDR(other: CIDR): boolean {
    return this.bits <= other.bits && samePrefix(this.bytes, other.bytes, this.bits);
  }
}

function sameBytes(left: Uint8Array, right: Uint8Array): boolean {
  return left.length === right.length && left.every((byte, index) => byte === right[index]);
}

function samePrefix(left: Uint8Array, right: Uint8Array, bits: number): boolean {
  if (left.length !== right.length) return false;
  return left.every((byte, index) => ((byte ^ (right[index] ?? 0)) & maskAt(bits, index)) === 0);
}

/** Returns the bits of byte `index` that a prefix of `bits` covers. */
const maskAt = (bits: number, index: number): number => (0xff00 >> Math.min(Math.max(bits - 8 * index, 0), 8)) & 0xff;
