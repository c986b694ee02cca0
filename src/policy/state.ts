/**
 * The state of one Policy in a running cluster. The live policies publish it, and the background controllers read it.
 */
import type { CompiledPolicy } from './engine/index.ts';
import type { PolicyIssue, PolicyModel } from './model.ts';
import type { ObjectQuery } from './world.ts';

export interface PolicyState {
  readonly name: string;
  readonly uid: string;
  readonly generation: number;
  /** The oldest resourceVersion with this generation. */
  readonly resourceVersion: string;
  readonly model?: PolicyModel;
  readonly policy?: CompiledPolicy;
  readonly issues: readonly PolicyIssue[];
  /** Whether this generation is enforced. */
  readonly inForce: boolean;
  /** The objects that must be cached before it is enforced. */
  readonly waitsFor: readonly ObjectQuery[];
}
