/** What changes by time alone: exceptions run out, and rules that only audited come into force. */
import type { CompiledPolicy } from './compile.ts';
import type { PolicySet } from './set.ts';

/** Differs once one of them has. */
export function scheduleStateAt(set: PolicySet, policy: CompiledPolicy, now: number): string {
  return transitionsOf(set, policy)
    .filter((each) => each <= now)
    .sort((one, other) => one - other)
    .join();
}

/** When the next of them does; undefined where none is to come. */
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
