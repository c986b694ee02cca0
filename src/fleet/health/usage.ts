/** Compares pod usage with limits, if the cluster serves the metrics API. */
import { Quantity, quantity } from '../../cel/internal.ts';
import type { Pod, PodMetrics } from './shapes.ts';

/** `overLimit` describes the first container above its share of a limit; undefined if there is none. */
export function overLimit(
  pods: readonly Pod[],
  metrics: ReadonlyMap<string, PodMetrics>,
  maxShare: number,
): string | undefined {
  for (const { metadata, spec } of pods) {
    for (const { name = '', usage = {} } of metrics.get(metadata.name)?.containers ?? []) {
      const limits = spec?.containers?.find((each) => each.name === name)?.resources?.limits ?? {};
      for (const [what, limit] of Object.entries(limits)) {
        const [used, allowed] = [amountOf(usage[what]), amountOf(limit)];
        if (used === undefined || allowed === undefined || used <= allowed * maxShare) continue;
        return `container ${name} of pod ${metadata.name} uses more ${what} than ${Math.round(maxShare * 100)} % of its limit`;
      }
    }
  }
  return undefined;
}

/** Approximate, because the measured values are seconds old anyway. */
export function amountOf(text: string | number | undefined): number | undefined {
  if (text === undefined) return undefined;
  const read = quantity(String(text));
  return read instanceof Quantity ? Number(read.amount.unscaled) * 10 ** read.amount.scale : undefined;
}
