/** What is known of one Policy of a running cluster: who keeps the live policies says it, who follows them reads it. */
import type { CompiledPolicy } from './engine/index.ts';
import type { PolicyIssue, PolicyModel } from './model.ts';
import type { ObjectQuery } from './world.ts';

export interface PolicyState {
  readonly name: string;
  readonly uid: string;
  readonly generation: number;
  /** The oldest at which this generation was seen. */
  readonly resourceVersion: string;
  readonly model?: PolicyModel;
  readonly policy?: CompiledPolicy;
  readonly issues: readonly PolicyIssue[];
  /** Whether requests are judged by this very generation. */
  readonly inForce: boolean;
  /** What it waits for before it comes into force. */
  readonly waitsFor: readonly ObjectQuery[];
}
