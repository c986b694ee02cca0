/**
 * Scan results by policy, resource type and namespace: exact counts, and the findings up to a limit. The size grows
 * with namespaces and policies, never with objects.
 */
import { type RuleResult, resultText } from '../../policy/index.ts';
import type { UnknownObject } from '../../runtime/index.ts';
import { plainText } from '../../runtime/internal.ts';
import { policyId } from './view.ts';

/** The outcome as spelled in reports: an audit result is a failure that is not scored. */
type Outcome = 'pass' | 'fail' | 'warn' | 'error' | 'skip';

export interface Finding {
  readonly policy: string;
  readonly rule: string;
  readonly outcome: Exclude<Outcome, 'pass'>;
  /** Whether a request would be denied over it. */
  readonly denies: boolean;
  readonly message: string;
  readonly severity: string;
  readonly category?: string;
  readonly field?: string;
  readonly exception?: string;
  readonly object: {
    readonly apiVersion: string;
    readonly kind: string;
    readonly namespace?: string;
    readonly name: string;
    readonly uid?: string;
  };
}

export type Counts = Record<Outcome, number>;

interface Cell {
  readonly counts: Counts;
  /** Evaluated objects, and those that violate. */
  objects: number;
  violating: number;
  /** The worst findings, up to the limit. */
  readonly findings: Finding[];
}

/** By policy, then namespace; the empty name is for cluster-scoped objects. */
type Cells = Map<string, Map<string, Cell>>;

const longestMessage = 500;

/** One pass over the objects of one type, counted separately and committed as a whole or not at all. */
export class Pass {
  readonly cells: Cells = new Map();
  readonly #bound: number;

  /** `bound`: the findings kept per policy and namespace. */
  constructor(bound: number) {
    this.#bound = bound;
  }

  /** Counts the results of one object, including passes. */
  count(object: UnknownObject, results: readonly RuleResult[]): void {
    const { namespace = '' } = object.metadata;
    const judged = new Set<Cell>();
    const violating = new Set<Cell>();
    for (const result of results) {
      const cell = this.#cell(
        policyId({ kind: result.policyKind, name: result.policy, binding: result.binding }),
        namespace,
      );
      const outcome = outcomeOf(result);
      cell.counts[outcome] += 1;
      if (!judged.has(cell)) {
        judged.add(cell);
        cell.objects += 1;
      }
      if (outcome === 'pass') continue;
      if ((outcome === 'fail' || outcome === 'warn') && !violating.has(cell)) {
        violating.add(cell);
        cell.violating += 1;
      }
      // A rule that needs a request says nothing about the object.
      if (outcome === 'skip' && result.exception === undefined) continue;
      keepWorst(cell.findings, () => findingOf(object, result, outcome), this.#bound, outcome);
    }
  }

  #cell(policy: string, namespace: string): Cell {
    const byNamespace = this.cells.get(policy) ?? new Map<string, Cell>();
    this.cells.set(policy, byNamespace);
    const cell = byNamespace.get(namespace) ?? emptyCell();
    byNamespace.set(namespace, cell);
    return cell;
  }
}

export class Ledger {
  /** By resource type. */
  readonly #types = new Map<string, Cells>();
  readonly #perNamespace: number;

  /** `perNamespace`: the findings that the report of one namespace can show. */
  constructor(perNamespace = 500) {
    this.#perNamespace = perNamespace;
  }

  /**
   * Starts an empty pass. The more findings are held, the fewer are kept per policy and namespace; the counts stay
   * exact.
   */
  pass(): Pass {
    const held = this.#held();
    return new Pass(Math.min(this.#perNamespace, held < 10_000 ? this.#perNamespace : held < 30_000 ? 20 : 2));
  }

  #held(): number {
    let held = 0;
    for (const cells of this.#types.values()) {
      for (const byNamespace of cells.values())
        for (const { findings } of byNamespace.values()) held += findings.length;
    }
    return held;
  }

  /** Replaces the results of these policies by a pass; returns the namespaces that may have changed. */
  take(type: string, policies: readonly string[], { cells }: Pass): Set<string> {
    const known = this.#types.get(type) ?? new Map<string, Map<string, Cell>>();
    this.#types.set(type, known);
    const touched = new Set<string>();
    for (const policy of policies) {
      for (const namespace of known.get(policy)?.keys() ?? []) touched.add(namespace);
      const found = cells.get(policy);
      if (found === undefined) known.delete(policy);
      else known.set(policy, found);
      for (const namespace of found?.keys() ?? []) touched.add(namespace);
    }
    return touched;
  }

  /** Drops policies and types that no longer exist; returns the affected namespaces. */
  keepOnly(wanted: (policy: string, type: string) => boolean): Set<string> {
    const touched = new Set<string>();
    for (const [type, cells] of this.#types) {
      for (const [policy, byNamespace] of cells) {
        if (wanted(policy, type)) continue;
        for (const namespace of byNamespace.keys()) touched.add(namespace);
        cells.delete(policy);
      }
      if (cells.size === 0) this.#types.delete(type);
    }
    return touched;
  }

  namespaces(): Set<string> {
    const found = new Set<string>();
    for (const cells of this.#types.values()) {
      for (const byNamespace of cells.values()) for (const namespace of byNamespace.keys()) found.add(namespace);
    }
    return found;
  }

  /** The results of a namespace in a stable order: failures, errors, warnings, skips. */
  namespace(namespace: string): { counts: Counts; findings: Finding[] } | undefined {
    const counts = emptyCell().counts;
    const findings: Finding[] = [];
    let known = false;
    for (const cells of this.#types.values()) {
      for (const byNamespace of cells.values()) {
        const cell = byNamespace.get(namespace);
        if (cell === undefined) continue;
        known = true;
        for (const outcome of outcomes) counts[outcome] += cell.counts[outcome];
        findings.push(...cell.findings);
      }
    }
    return known ? { counts, findings: findings.sort(worstFirst) } : undefined;
  }

  policy(policy: string): { objects: number; violating: number } {
    let [objects, violating] = [0, 0];
    for (const cells of this.#types.values()) {
      for (const cell of cells.get(policy)?.values() ?? []) {
        objects += cell.objects;
        violating += cell.violating;
      }
    }
    return { objects, violating };
  }
}

const outcomes = ['pass', 'fail', 'warn', 'error', 'skip'] as const satisfies readonly Outcome[];
const worst: Readonly<Record<Outcome, number>> = { fail: 0, error: 1, warn: 2, skip: 3, pass: 4 };

const emptyCell = (): Cell => ({
  counts: { pass: 0, fail: 0, warn: 0, error: 0, skip: 0 },
  objects: 0,
  violating: 0,
  findings: [],
});

const outcomeOf = ({ result }: RuleResult): Outcome => (result === 'audit' ? 'fail' : result);

/** A full list drops a less severe finding, if there is one. */
function keepWorst(findings: Finding[], make: () => Finding, bound: number, outcome: Finding['outcome']): void {
  if (findings.length < bound) {
    findings.push(make());
    return;
  }
  const lesser = findings.findLastIndex((known) => worst[known.outcome] > worst[outcome]);
  if (lesser >= 0) findings[lesser] = make();
}

function findingOf(
  { apiVersion, kind, metadata }: UnknownObject,
  result: RuleResult,
  outcome: Finding['outcome'],
): Finding {
  const { skipped, severity, category, field, exception, rule, denies } = result;
  const words = [resultText(result), skipped].filter((part) => part !== undefined && part !== '');
  return {
    policy: result.binding === undefined ? result.policy : `${result.policy}/${result.binding}`,
    rule,
    outcome,
    denies,
    message: bounded(plainText(words.join(': '))),
    severity,
    ...(category === undefined ? {} : { category }),
    ...(field === undefined ? {} : { field }),
    ...(exception === undefined ? {} : { exception }),
    object: {
      apiVersion,
      kind,
      name: metadata.name,
      ...(metadata.namespace === undefined ? {} : { namespace: metadata.namespace }),
      ...(metadata.uid === undefined ? {} : { uid: metadata.uid }),
    },
  };
}

const bounded = (text: string): string =>
  text.length <= longestMessage ? text : `${text.slice(0, longestMessage - 1)}…`;

function worstFirst(one: Finding, other: Finding): number {
  return worst[one.outcome] - worst[other.outcome] || compare(identityOf(one), identityOf(other));
}

/** The identity of a finding across scans. */
export function identityOf({ policy, rule, outcome, object }: Finding): string {
  return [policy, rule, object.apiVersion, object.kind, object.namespace ?? '', object.name, outcome].join('\n');
}

const compare = (one: string, other: string): number => (one < other ? -1 : one > other ? 1 : 0);
