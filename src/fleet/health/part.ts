/** The result of one health check, without its duration. */
import type { HealthState, PartHealth } from '../contract.ts';

export type Finding = Omit<PartHealth, 'milliseconds'>;

export const healthy: Finding = { state: 'Healthy' };

export const finding = (state: HealthState, message: string): Finding => ({ state, message });

/** `worst` returns the first of the worst findings. NotChecked counts only if nothing was checked. */
export function worst(findings: readonly Finding[]): Finding {
  for (const state of ['Unhealthy', 'Unknown', 'Healthy', 'NotChecked'] as const) {
    const found = findings.find((each) => each.state === state);
    if (found !== undefined) return found;
  }
  return finding('NotChecked', 'nothing to check');
}
