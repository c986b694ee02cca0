/** Changes that happen over time: exceptions expire, and rules with `enforceAfter` become enforced. */
import type { CompiledPolicy } from './compile.ts';
import type { PolicySet } from './set.ts';

/** `scheduleStateAt` returns a value that differs after each such change. */
export function scheduleStateAt(set: PolicySet, policy: CompiledPolicy, now: number): string {
  return transitionsOf(set, policy)
    .filter((each) => each <= now)
    .sort((one, other) => one - other)
    .join();
}

/** `nextTransition` returns the time of the next change, or undefined. */
export function nextTransition(set: PolicySet, policies: readonly CompiledPolicy[], now: number): number | undefined {
  const coming = policies.flatMap((policy) => transitionsOf(set, policy)).filter((each) => each > now);
  return coming.length === 0 ? undefined : Math.min(...coming);
}

function transitionsOf({ exceptions }: PolicySet, { model }: CompiledPolicy): number[] {
  return [
    ...(exceptions.get(model.name) ?? []).flatMap((each) => each.model.expiresAt ?? []),
    ...model.rules.flatMap(({ enforceAfter }) => enforceAfter ?? []),
  ];
}
