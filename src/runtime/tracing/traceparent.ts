/** W3C trace context: one trace from the apply to the broker and back, through Kafka and HTTP alike. */
import { randomBytes } from 'node:crypto';

export interface TraceParent {
  /** 32 hexadecimal digits. */
  readonly traceId: string;
  /** 16 hexadecimal digits: the step that came before. */
  readonly parentId: string;
  readonly sampled: boolean;
}

const form = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.{0,256})?$/;

/** Undefined where the text is none. Later versions may say more at the end, which is left out. */
export function parseTraceparent(text: string | undefined): TraceParent | undefined {
  const [, version, traceId, parentId, flags, more] = form.exec(text ?? '') ?? [];
  if (traceId === undefined || parentId === undefined || version === 'ff') return undefined;
  if (version === '00' && more !== undefined) return undefined;
  if (/^0+$/.test(traceId) || /^0+$/.test(parentId)) return undefined;
  return { traceId, parentId, sampled: (Number.parseInt(flags ?? '0', 16) & 1) === 1 };
}

export const formatTraceparent = ({ traceId, parentId, sampled }: TraceParent): string =>
  `00-${traceId}-${parentId}-${sampled ? '01' : '00'}`;

/** The beginning of a trace. */
export const newTraceparent = (): string => formatTraceparent({ traceId: hex(16), parentId: hex(8), sampled: true });

/** The next step of a trace; of none, or of one that cannot be read, the beginning of one. */
export function childTraceparent(parent?: string): string {
  const trace = parseTraceparent(parent);
  return trace === undefined ? newTraceparent() : formatTraceparent({ ...trace, parentId: hex(8) });
}

/** Never all zeros, which would stand for: none. */
function hex(bytes: number): string {
  for (;;) {
    const value = randomBytes(bytes);
    if (value.some((byte) => byte !== 0)) return value.toString('hex');
  }
}
