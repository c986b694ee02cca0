/** What policies would do to objects that are there already, counted by rule, with the first few by name. */
import { type PolicyDecision, type RuleResult, resultText } from '../../policy/index.ts';

export interface Subject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly namespace?: string;
  readonly name: string;
  /** Where it comes from a file. */
  readonly file?: string;
  readonly line?: number;
}

export interface RuleImpact {
  readonly policy: string;
  readonly binding?: string;
  readonly rule: string;
  /** Objects that admission would refuse because of this rule. */
  denied: number;
  /** Objects that would be admitted with a warning or an audit record. */
  warned: number;
  audited: number;
  /** Objects that the rule could not be evaluated for. */
  errors: number;
  /** Objects that an exception exempts. */
  excepted: number;
  /** Objects that cannot be decided without request data or a cluster. */
  skipped: number;
  /** The first few that would be refused. */
  readonly first: (Subject & { readonly message: string })[];
}

export interface Impact {
  /** The numbers of objects: scanned, matched by a policy, denied, warned about. */
  readonly objects: number;
  readonly matched: number;
  readonly denied: number;
  readonly warned: number;
  readonly rules: readonly RuleImpact[];
  /** Kinds that could not be read, and why. */
  readonly missing: readonly string[];
  /** False where the time was up before all were looked at. */
  readonly complete: boolean;
  readonly seconds: number;
}

export class Tally {
  readonly #most: number;
  readonly #rules = new Map<string, RuleImpact>();
  objects = 0;
  matched = 0;
  denied = 0;
  warned = 0;

  /** `most` is the number of denied objects that are listed by name for each rule. */
  constructor(most: number) {
    this.#most = most;
  }

  /** `subject` is called only for objects that are listed. */
  count(decision: PolicyDecision, subject: () => Subject): void {
    this.objects += 1;
    if (decision.matched.length > 0) this.matched += 1;
    const findings = decision.results.filter(({ result }) => result !== 'pass');
    if (findings.some(({ denies }) => denies)) this.denied += 1;
    else if (findings.some(({ result }) => result === 'warn' || result === 'audit')) this.warned += 1;
    for (const result of findings) this.#countRule(result, subject);
  }

  /** The rules that refuse most come first. */
  rules(): readonly RuleImpact[] {
    return [...this.#rules.values()].sort((one, other) => other.denied - one.denied || other.warned - one.warned);
  }

  #countRule(result: RuleResult, subject: () => Subject): void {
    const rule = this.#ruleOf(result);
    if (result.result === 'warn') rule.warned += 1;
    else if (result.result === 'audit') rule.audited += 1;
    else if (result.result === 'error') rule.errors += 1;
    else if (result.result === 'skip') rule[result.exception === undefined ? 'skipped' : 'excepted'] += 1;
    if (!result.denies) return;
    rule.denied += 1;
    if (rule.first.length < this.#most) rule.first.push({ ...subject(), message: resultText(result) });
  }

  #ruleOf({ policy, binding, rule }: RuleResult): RuleImpact {
    const key = JSON.stringify([policy, binding, rule]);
    const known = this.#rules.get(key);
    if (known !== undefined) return known;
    const counts = { denied: 0, warned: 0, audited: 0, errors: 0, excepted: 0, skipped: 0, first: [] };
    const made = { policy, ...(binding === undefined ? {} : { binding }), rule, ...counts };
    this.#rules.set(key, made);
    return made;
  }
}
