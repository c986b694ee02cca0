/** Metrics that several parts count in: made by whoever asks first for a registry, and the same for all who ask after. */
import type { Registry } from 'prom-client';

export function oncePerRegistry<Metrics>(make: (registry: Registry) => Metrics): (registry: Registry) => Metrics {
  const made = new WeakMap<Registry, { readonly metrics: Metrics }>();
  return (registry) => {
    const entry = made.get(registry) ?? { metrics: make(registry) };
    made.set(registry, entry);
    return entry.metrics;
  };
}
