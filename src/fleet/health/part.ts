/** How one part of an operator fares, before anybody has said how long it took to find out. */
import type { HealthState, PartHealth } from '../contract.ts';

export type Finding = Omit<PartHealth, 'milliseconds'>;

export const healthy: Finding = { state: 'Healthy' };

export const finding = (state: HealthState, message: string): Finding => ({ state, message });

/** The worst of them, and of those the first. What was not checked counts only where nothing was. */
export function worst(findings: readonly Finding[]): Finding {
  for (const state of ['Unhealthy', 'Unknown', 'Healthy', 'NotChecked'] as const) {
    const found = findings.find((each) => each.state === state);
    if (found !== undefined) return found;
  }
  return finding('NotChecked', 'there is nothing to look at');
}
