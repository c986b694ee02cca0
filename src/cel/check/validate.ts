/**
 * The validations of Kubernetes after type checking: literal durations, timestamps and patterns that are never valid,
 * and lists and maps of mixed types, including dyn.
 */
import { type Call, children, type Expr } from '../ast.ts';
import type { Issue } from '../source.ts';
import { compileRegex } from '../standard/regex.ts';
import { parseDuration, parseTimestamp } from '../time/text.ts';
import { DYN, parameterOf, sameType, type Type, typeName } from '../types.ts';
import { CelError, isInt } from '../values.ts';
import type { Checked } from './checked.ts';
import { unwrapOptional } from './unify.ts';

export function validate(checked: Checked): readonly Issue[] {
  const validator = new Validator(checked);
  validator.visit(checked.ast, checked.environment.language.homogeneousLiterals);
  return validator.issues;
}

class Validator {
  readonly issues: Issue[] = [];
  readonly #checked: Checked;

  constructor(checked: Checked) {
    this.#checked = checked;
  }

  /** `uniform` is false below format(), whose list may have mixed types. */
  visit(node: Expr, uniform: boolean): void {
    if (node.kind === 'call') {
      this.#literal(node);
      this.#libraries(node);
    }
    if (uniform && node.kind === 'list') this.#list(node.elements, node.optional);
    if (uniform && node.kind === 'map') {
      this.#list(
        node.entries.map((each) => each.key),
        [],
      );
      const optional = node.entries.flatMap((each, index) => (each.optional ? [index] : []));
      this.#list(
        node.entries.map((each) => each.value),
        optional,
      );
    }
    const below = uniform && !(node.kind === 'call' && node.function === 'format');
    for (const child of children(node)) this.visit(child, below);
  }

  #literal(node: Call): void {
    const argument = node.args[0];
    if (argument?.kind !== 'literal') return;
    const { value } = argument;
    const wrong =
      typeof value === 'string' ? isInvalid(node.function, value) : node.function === 'duration' && isInt(value);
    if (!wrong) return;
    this.#report(argument, 'invalid_literal', `invalid ${node.function} argument`);
  }

  #libraries(node: Call): void {
    const member = node.target !== undefined;
    for (const validator of this.#checked.environment.validators) {
      if (validator.function !== node.function || validator.member !== member) continue;
      const problem = validator.validate(node, (each) => this.#checked.types.get(each.id) ?? DYN);
      if (problem !== undefined) this.#report(problem.node, 'invalid_literal', problem.message);
    }
  }

  #list(nodes: readonly Expr[], optional: readonly number[]): void {
    const found = nodes.map((each, index) => {
      const of = this.#checked.types.get(each.id) as Type;
      return unwrap(optional.includes(index) ? unwrapOptional(of) : of);
    });
    const first = found[0];
    if (first === undefined) return;
    const wrong = found.findIndex((each) => !sameType(first, each));
    if (wrong < 0) return;
    const message = `expected type '${typeName(first)}' but found '${typeName(found[wrong] as Type)}'`;
    this.#report(nodes[wrong] as Expr, 'type_mismatch', message);
  }

  #report(node: Expr, code: Issue['code'], message: string): void {
    if (this.issues.some((each) => each.offset === node.offset && each.message === message)) return;
    this.issues.push(this.#checked.source.issue(code, node.offset, message));
  }
}

function isInvalid(name: string, text: string): boolean {
  switch (name) {
    case 'duration':
      return parseDuration(text) === undefined;
    case 'timestamp': {
      const parsed = parseTimestamp(text);
      return parsed === undefined || parsed instanceof CelError;
    }
    case 'matches':
      return compileRegex(text) instanceof CelError;
    default:
      return false;
  }
}

const unwrap = (of: Type): Type => (of.kind === 'wrapper' ? parameterOf(of, 0) : of);
