/** cel-go's encoders extension: base64 and JSON. YAML and typed JSON are not supported. */
import { sizeOf } from '../../cost/size.ts';
import { fn, type Library, overload, type RuntimeCost, type StaticCost, UNBOUNDED } from '../../declarations.ts';
import { DecodeError, decodeJson } from '../../decode.ts';
import { BYTES, DYN, optional, STRING } from '../../types.ts';
import { type CelError, invalidArgument, Optional } from '../../values.ts';
import { add, estimate, ONE, range, scale, sizeOfNode, UNKNOWN_SIZE } from '../estimate.ts';
import { encodeJson } from './json-text.ts';

const cost: RuntimeCost = ([input]) => Math.ceil(sizeOf(input ?? null) * 0.1) + 1;

const estimateWith =
  (resultSize: (size: number) => number): StaticCost =>
  (_target, [input]) => {
    const size = sizeOfNode(input);
    return estimate(add(scale(size, 0.1), ONE), range(resultSize(size.min), Math.min(resultSize(size.max), UNBOUNDED)));
  };

export const encoders: Library = {
  name: 'cel.lib.ext.encoders',
  functions: [
    fn('base64.decode', [
      overload('base64_decode_string', [STRING], BYTES, decode, {
        cost,
        estimate: estimateWith((size) => Math.floor((size * 3) / 4)),
      }),
    ]),
    fn('base64.decodeUrl', [
      overload('base64_decode_url_string', [STRING], BYTES, decodeUrl, {
        cost,
        estimate: estimateWith((size) => Math.floor((size * 3) / 4)),
      }),
    ]),
    fn('base64.encodeUrl', [
      overload('base64_encode_url_bytes', [BYTES], STRING, encodeUrl, {
        cost,
        estimate: estimateWith((size) => Math.floor((size * 4 + 2) / 3)),
      }),
    ]),
    fn('base64.encode', [
      overload('base64_encode_bytes', [BYTES], STRING, (bytes: Uint8Array) => Buffer.from(bytes).toString('base64'), {
        cost,
        estimate: estimateWith((size) => Math.floor((size * 4 + 2) / 3)),
      }),
    ]),
    fn('json.parse', [
      overload('json_parse_string', [STRING], optional(DYN), parseJson, {
        // The size of the text is charged, as for encode.
        cost: ([text]) => sizeOf(text ?? null) + 1,
        estimate: (_target, [text]) => estimate(add(sizeOfNode(text), ONE), UNKNOWN_SIZE),
      }),
    ]),
    fn('json.encode', [
      overload('json_encode_dyn', [DYN], STRING, encodeJson, {
        // cel-go charges the maximum cost, so no budget allows a call. This implementation charges the size of the
        // text.
        cost: (_args, result) => sizeOf(result) + 1,
        estimate: () => estimate(UNKNOWN_SIZE, UNKNOWN_SIZE),
      }),
    ]),
  ],
};

/** Decodes base64 with or without padding; line breaks are allowed anywhere, like in Go's decoder. */
function decode(text: string): Uint8Array | CelError {
  const digits = text.replace(/[\r\n]/g, '');
  const unpadded = digits.replace(/={1,2}$/, '');
  const padding = digits.length - unpadded.length;
  const wrong = !/^[A-Za-z0-9+/]*$/.test(unpadded) || unpadded.length % 4 === 1;
  if (wrong || (padding > 0 && digits.length % 4 !== 0)) return invalidArgument('illegal base64 data');
  return new Uint8Array(Buffer.from(unpadded, 'base64'));
}

/** Decodes the URL-safe alphabet. */
function decodeUrl(text: string): Uint8Array | CelError {
  if (/[+/]/.test(text)) return invalidArgument('illegal base64 data');
  return decode(text.replaceAll('-', '+').replaceAll('_', '/'));
}

function encodeUrl(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64').replaceAll('+', '-').replaceAll('/', '_');
}

/** Parses JSON text; returns an empty optional if it is invalid. */
function parseJson(text: string): Optional {
  try {
    return new Optional(decodeJson(text));
  } catch (thrown) {
    if (thrown instanceof DecodeError) return Optional.none;
    throw thrown;
  }
}
