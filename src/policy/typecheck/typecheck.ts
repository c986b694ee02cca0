/**
 * Type-checks the expressions of a policy against the types that it matches. If no matched type has a field such as
 * `object.spec.replicas`, the policy never works; if some lack it, the policy fails on those.
 */
import {
  type Checked,
  check,
  type Environment,
  type Issue,
  reads,
  type SchemaTypes,
  type Type,
  type TypeProvider,
  types,
  withComposed,
} from '../../cel/index.ts';
import { SHORTHANDS } from '../engine/environment.ts';
import { resourceTypeText } from '../load/index.ts';
import type { PolicyIssue, PolicyModel } from '../model.ts';
import { completed, type Steps } from '../steps.ts';
import { constructedTypes } from './constructed.ts';
import { costOf, EXPRESSION_LIMIT, LARGE, USUAL } from './cost.ts';
import { type CheckedExpression, expressionsOf, plainEnvironment, type Wanted } from './expressions.ts';
import { type MatchedType, matchedKinds, matchedTypes, typesOf } from './matched.ts';
import type { SchemaSource } from './schemas.ts';

export interface TypeCheckReport {
  readonly issues: PolicyIssue[];
  /** The resource types that it matches, as in a selector. */
  readonly matchedTypes: readonly string[];
  /** The estimated cost of evaluating one object of typical size, in Kubernetes cost units. */
  readonly cost: number;
}

/** `typeCheck` returns the issues of `typeCheckPolicy`. */
export function typeCheck(model: PolicyModel, schemas: SchemaSource): PolicyIssue[] {
  return typeCheckPolicy(model, schemas).issues;
}

/**
 * `typeCheckPolicy` checks the expressions of a compiled policy against the schemas of all types that it matches, and
 * estimates their cost.
 */
export function typeCheckPolicy(model: PolicyModel, schemas: SchemaSource): TypeCheckReport {
  return completed(typeCheckSteps(model, schemas));
}

/** `typeCheckSteps` is `typeCheckPolicy` with one step for each expression and type. */
export function* typeCheckSteps(model: PolicyModel, schemas: SchemaSource): Steps<TypeCheckReport> {
  const { matched, missing } = matchedTypes(model, schemas);
  const issues: PolicyIssue[] = missing.map(({ index, text, suggestion }) => {
    const hint =
      suggestion === undefined
        ? 'its expressions are type-checked once it is installed'
        : `did you mean ${suggestion}?`;
    return notThere(model, `${typePath(model)}[${index}]`, text, hint);
  });
  issues.push(...templateIssues(model, schemas));
  const base = environmentOf(model, schemas, issues);
  const expressions = yield* expressionsOf(model);
  const outcomes = expressions.map(() => new Outcome());
  let cost = 0;
  const groups = yield* groupsOf(matched, expressions);
  for (const group of groups) {
    const found = yield* checkAgainst(group[0] as MatchedType, base, expressions);
    for (const [index, result] of found.results.entries()) outcomes[index]?.add(result, group);
    cost = Math.max(cost, found.cost);
  }
  if (groups.length === 0) {
    // Without a known kind nothing is type-checked, but the cost of a loop over literals does not depend on the kind.
    const found = yield* checkAgainst({ name: 'any kind', types: undefined }, base, expressions);
    for (const [index, result] of found.results.entries()) {
      outcomes[index]?.add(
        result.filter(({ code }) => code === TOO_EXPENSIVE),
        [{ name: 'any kind', types: undefined }],
      );
    }
    cost = found.cost;
  }
  for (const [index, expression] of expressions.entries()) {
    issues.push(...(outcomes[index] as Outcome).issues(model, expression, matched.length));
    yield;
  }
  return { issues, matchedTypes: matched.map(({ name }) => name), cost };
}

const typePath = (model: PolicyModel): string =>
  model.kind === 'Policy' ? 'spec.selector.resourceTypes' : 'spec.matchConstraints.resourceRules';

function notThere(model: PolicyModel, path: string, text: string, hint: string): PolicyIssue {
  const message = `${path}: kind ${text} was not found: ${hint}`;
  return { severity: 'warning', code: 'unknown_kind', policy: model.name, path, message, resourceType: text };
}

/** Checks that each additional workload controller has a Pod template at the declared path. */
function templateIssues(model: PolicyModel, schemas: SchemaSource): readonly PolicyIssue[] {
  return (model.podControllers?.additional ?? []).flatMap(({ type, path: template }, index): readonly PolicyIssue[] => {
    const path = `spec.podControllers.additional[${index}]`;
    const kinds = matchedKinds(type, schemas);
    if (kinds.length === 0)
      return [
        notThere(model, `${path}.resourceType`, resourceTypeText(type), 'its path is checked once it is installed'),
      ];
    const steps = template.replace(/^\./, '').split('.');
    return kinds.flatMap(({ name, types: of }) => {
      if (of === undefined || of.root.at(steps)?.field('spec') !== undefined) return [];
      const message = `${path}.path: ${name} has no Pod template at ${template}: name the field whose spec contains the containers`;
      return [
        {
          severity: 'error',
          code: 'no_such_field',
          policy: model.name,
          path: `${path}.path`,
          message,
          resourceType: name,
        },
      ];
    });
  });
}

/** Builds the environment without the object; it is the same for all matched types. */
function environmentOf(model: PolicyModel, schemas: SchemaSource, issues: PolicyIssue[]): Environment {
  const variables: Record<string, Type> = {};
  const providers: TypeProvider[] = [];
  const look = (apiVersion: string, kind: string, path: string): Type => {
    const found = typesOf(apiVersion, kind, schemas);
    if (found === undefined) {
      issues.push(notThere(model, path, `${apiVersion}/${kind}`, 'expressions that read it are not type-checked'));
      return types.DYN;
    }
    providers.push(found.provider);
    return found.type;
  };
  const { params } = model;
  if (params !== undefined) {
    const path = model.kind === 'Policy' ? 'spec.params.kind' : 'spec.paramKind';
    variables.params = look(params.apiVersion, params.kind, path);
  }
  model.context.forEach(({ name, apiVersion, kind, resourceName }, index) => {
    const type = look(apiVersion, kind, `spec.context[${index}].kind`);
    variables[name] = resourceName === undefined ? types.list(type) : type;
  });
  return plainEnvironment(model).extend({ variables, types: providers, language: { looseEquality: true } });
}

/**
 * Groups types that are identical for these expressions: expressions that read only metadata are checked once, not for
 * each of a hundred kinds.
 */
function* groupsOf(
  matched: readonly MatchedType[],
  expressions: readonly CheckedExpression[],
): Steps<readonly (readonly MatchedType[])[]> {
  const fields = yield* fieldsRead(expressions);
  const groups = new Map<unknown, MatchedType[]>();
  for (const each of matched) {
    const key = keyOf(each.types, fields);
    const known = groups.get(key);
    if (known === undefined) groups.set(key, [each]);
    else known.push(each);
    yield;
  }
  return [...groups.values()];
}

/** Returns the top-level fields that are read; undefined if an expression reads the whole object. */
function* fieldsRead(expressions: readonly CheckedExpression[]): Steps<readonly string[] | undefined> {
  const fields = new Set<string>();
  for (const { ast } of expressions) {
    for (const { variable, path } of reads(ast)) {
      if ((SHORTHANDS as readonly string[]).includes(variable)) fields.add(variable);
      if (variable !== 'object' && variable !== 'oldObject') continue;
      const [first] = path;
      if (first === undefined || first === '*') return undefined;
      fields.add(first);
    }
    yield;
  }
  return [...fields].sort();
}

function keyOf(of: SchemaTypes | undefined, fields: readonly string[] | undefined): unknown {
  if (of === undefined || fields === undefined) return of;
  return fields.map((field) => identity(of.root.field(field)?.schema)).join(' ');
}

const IDENTITIES = new WeakMap<object, number>();
let identities = 0;

function identity(of: object | undefined): number {
  if (of === undefined) return -1;
  let known = IDENTITIES.get(of);
  if (known === undefined) {
    known = identities++;
    IDENTITIES.set(of, known);
  }
  return known;
}

interface Found {
  readonly results: readonly (readonly Issue[])[];
  readonly cost: number;
}

function* checkAgainst(
  { types: object }: MatchedType,
  base: Environment,
  expressions: readonly CheckedExpression[],
): Steps<Found> {
  const providers = object === undefined ? [] : [object.provider, constructedTypes(object)];
  const typed = base.extend({ variables: objectVariables(object), types: providers });
  const composed: Record<string, Type> = {};
  let environment = withComposed(typed, composed);
  let cost = 0;
  const results: (readonly Issue[])[] = [];
  for (const expression of expressions) {
    const { checked, issues } = check(expression.source, expression.ast, environment);
    if (expression.variable !== undefined) {
      // An issue of a variable is reported at its definition, not at every use.
      composed[expression.variable] = checked?.type ?? types.DYN;
      environment = withComposed(typed, composed);
    }
    const absent = absentParts(expression, object);
    if (checked === undefined || absent.length > 0) results.push([...absent, ...issues]);
    else {
      cost += costOf(checked, object, USUAL);
      results.push([...wrongResult(expression, checked), ...expensive(expression, checked, object)]);
    }
    yield;
  }
  return { results, cost };
}

function objectVariables(object: SchemaTypes | undefined): Readonly<Record<string, Type>> {
  if (object === undefined) return {};
  const variables: Record<string, Type> = { object: object.type, oldObject: object.type };
  for (const name of SHORTHANDS) variables[name] = object.root.field(name)?.type ?? types.ERROR;
  return variables;
}

/**
 * Reports shorthand names that the type does not have. The checker treats them as errors already reported, so each is
 * reported once.
 */
function absentParts({ ast, source }: CheckedExpression, object: SchemaTypes | undefined): readonly Issue[] {
  if (object === undefined) return [];
  return reads(ast)
    .filter(({ variable }) => (SHORTHANDS as readonly string[]).includes(variable) && !object.root.field(variable))
    .map(({ variable, node }) => source.issue('no_such_field', node.start, `the object has no field '${variable}'`));
}

const WANTED: Readonly<Record<Wanted, readonly string[]>> = {
  bool: ['bool'],
  string: ['string'],
  'string or null': ['string', 'null'],
  anything: [],
};

function wrongResult({ wanted, source }: CheckedExpression, { type }: Checked): readonly Issue[] {
  const kind = type.kind === 'wrapper' ? type.parameters[0]?.kind : type.kind;
  if (wanted === 'anything' || kind === 'dyn' || WANTED[wanted].includes(kind ?? '')) return [];
  const message = `must evaluate to ${wanted}, got ${types.typeName(type)}`;
  return [source.issue('type_mismatch', 0, message)];
}

function expensive({ source }: CheckedExpression, checked: Checked, object: SchemaTypes | undefined): readonly Issue[] {
  if (costOf(checked, object, LARGE) <= EXPRESSION_LIMIT) return [];
  const message = `may exceed the cost limit of ${EXPRESSION_LIMIT} for objects with lists of ${LARGE.elements} elements: nest fewer loops, or loop over fewer elements`;
  return [source.issue(TOO_EXPENSIVE, 0, message)];
}

const TOO_EXPENSIVE = 'too_large';

/** The outcome of one expression on all types. */
class Outcome {
  readonly #byIssue = new Map<string, { issue: Issue; on: string[] }>();
  readonly #failing = new Set<string>();

  add(issues: readonly Issue[], group: readonly MatchedType[]): void {
    for (const issue of issues) {
      const key = `${issue.offset} ${issue.message}`;
      const known = this.#byIssue.get(key) ?? { issue, on: [] };
      this.#byIssue.set(key, known);
      for (const { name } of group) {
        known.on.push(name);
        if (issue.code !== TOO_EXPENSIVE) this.#failing.add(name);
      }
    }
  }

  issues(model: PolicyModel, { path, source }: CheckedExpression, matched: number): readonly PolicyIssue[] {
    const everywhere = this.#failing.size === matched;
    return [...this.#byIssue.values()].map(({ issue, on }) => {
      const { code, line, column, offset } = issue;
      const where = on.length === matched && matched > 1 ? '' : ` (${listed(on)})`;
      const message = `${path}:${line}:${column}: ${issue.message}${where}\n${source.picture(offset)}`;
      return {
        severity: everywhere && code !== TOO_EXPENSIVE ? 'error' : 'warning',
        code: code === TOO_EXPENSIVE ? 'expensive' : code,
        policy: model.name,
        path,
        line,
        column,
        message,
        ...(on.length === 1 ? { resourceType: on[0] as string } : {}),
      };
    });
  }
}

const MAX_LISTED = 5;

function listed(names: readonly string[]): string {
  const rest = names.length - MAX_LISTED;
  return rest > 0 ? `${names.slice(0, MAX_LISTED).join(', ')} and ${rest} more` : names.join(', ');
}
