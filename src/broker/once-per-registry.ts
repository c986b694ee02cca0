/**
 * Metrics that several components share: the first call for a registry creates them, later calls return the same ones.
 */
import type { Registry } from 'prom-client';

export function oncePerRegistry<Metrics>(make: (registry: Registry) => Metrics): (registry: Registry) => Metrics {
  const made = new WeakMap<Registry, { readonly metrics: Metrics }>();
  return (registry) => {
    const entry = made.get(registry) ?? { metrics: make(registry) };
    made.set(registry, entry);
    return entry.metrics;
  };
}
