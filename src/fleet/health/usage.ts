/** What pods use against what they may, where the cluster serves the metrics API. */
import { Quantity, quantity } from '../../cel/internal.ts';
import type { Pod, PodMetrics } from './shapes.ts';

/** The first container that uses more than its share of a limit, in words; undefined where none does. */
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

/** Near enough: what is compared is measured, and seconds old. */
export function amountOf(text: string | number | undefined): number | undefined {
  if (text === undefined) return undefined;
  const read = quantity(String(text));
  return read instanceof Quantity ? Number(read.amount.unscaled) * 10 ** read.amount.scale : undefined;
}
