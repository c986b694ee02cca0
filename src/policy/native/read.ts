/** Reads ValidatingAdmissionPolicies and MutatingAdmissionPolicies, each joined with each of its bindings. */
import { createHash } from 'node:crypto';
import type {
  Action,
  ExpressionModel,
  MutationModel,
  NamedExpression,
  ParamsModel,
  PolicyIssue,
  PolicyModel,
  RuleModel,
} from '../model.ts';
import type { Json, Operation } from '../request.ts';
import { Fields, isObject } from './fields.ts';
import { readMatch } from './match.ts';

type NativeKind = 'ValidatingAdmissionPolicy' | 'MutatingAdmissionPolicy';

const KINDS: readonly NativeKind[] = ['ValidatingAdmissionPolicy', 'MutatingAdmissionPolicy'];
const GROUP = /^admissionregistration\.k8s\.io\/v1(?:beta1|alpha1)?$/;
const REASONS = ['Unauthorized', 'Forbidden', 'Invalid', 'RequestEntityTooLarge'] as const;
/** The operations of mutating policies. A deleted object cannot be mutated, so DELETE is excluded. */
const MUTATED: readonly Operation[] = ['CREATE', 'UPDATE', 'CONNECT'];

/** `isNative` reports whether the object is a native policy or the binding of one. */
export function isNative(object: Json): boolean {
  return typeof object.apiVersion === 'string' && GROUP.test(object.apiVersion) && kindOf(object) !== undefined;
}

/**
 * `readNative` returns one model per policy and binding, in the order of the policies. Other objects are ignored. A
 * policy with an error yields no model, because a partial policy could admit requests that the whole policy denies.
 */
export function readNative(objects: readonly Json[]): { models: PolicyModel[]; issues: PolicyIssue[] } {
  const issues: PolicyIssue[] = [];
  const models: PolicyModel[] = [];
  const native = objects.filter(isNative);
  for (const kind of KINDS) {
    const policies = native.filter((object) => object.kind === kind);
    const bindings = native.filter((object) => object.kind === `${kind}Binding`);
    for (const policy of policies) {
      const bound = bindings.filter((binding) => policyNameOf(binding) === nameOf(policy));
      if (bound.length === 0) issues.push(unbound(policy, kind));
      for (const binding of bound) {
        const found: PolicyIssue[] = [];
        const model = new Joined(kind, policy, binding, found).model();
        if (found.every(({ severity }) => severity !== 'error')) models.push(model);
        issues.push(...found);
      }
    }
    const names = new Set(policies.map(nameOf));
    for (const binding of bindings) {
      if (!names.has(policyNameOf(binding) ?? '')) issues.push(dangling(binding, kind));
    }
  }
  return { models, issues: unique(issues) };
}

class Joined {
  readonly #kind: NativeKind;
  readonly #policy: Json;
  readonly #binding: Json;
  readonly #spec: Fields;
  readonly #bindingSpec: Fields;

  constructor(kind: NativeKind, policy: Json, binding: Json, issues: PolicyIssue[]) {
    this.#kind = kind;
    this.#policy = policy;
    this.#binding = binding;
    const name = nameOf(policy);
    this.#spec = new Fields(specOf(policy), 'spec', name, issues);
    this.#bindingSpec = new Fields(specOf(binding), 'spec', `${name} (binding ${nameOf(binding)})`, issues);
  }

  model(): PolicyModel {
    const spec = this.#spec;
    const operations = this.#kind === 'MutatingAdmissionPolicy' ? MUTATED : undefined;
    const constraints = spec.object('matchConstraints');
    if ((constraints?.objects('resourceRules') ?? []).length === 0) {
      spec.wrong('matchConstraints.resourceRules', 'is required');
    }
    const params = this.#params();
    return {
      kind: this.#kind,
      name: nameOf(this.#policy),
      binding: nameOf(this.#binding),
      revision: revisionOf(this.#policy, this.#binding),
      match: readMatch(constraints, operations),
      alsoMatch: readMatch(this.#bindingSpec.object('matchResources'), operations),
      matchConditions: named(spec.objects('matchConditions')),
      ...(params === undefined ? {} : { params }),
      context: [],
      variables: named(spec.objects('variables')),
      failurePolicy: spec.choice('failurePolicy', ['Fail', 'Ignore']) ?? 'Fail',
      rules: this.#kind === 'ValidatingAdmissionPolicy' ? this.#rules() : [],
      mutations: this.#kind === 'MutatingAdmissionPolicy' ? this.#mutations() : [],
      reinvocationPolicy: spec.choice('reinvocationPolicy', ['Never', 'IfNeeded']) ?? 'Never',
      sensitivePaths: [],
      tests: [],
    };
  }

  /** A paramRef is ignored without a paramKind; without a paramRef `params` is null. */
  #params(): ParamsModel | undefined {
    const kind = this.#spec.object('paramKind');
    if (kind === undefined) return undefined;
    const type = { apiVersion: kind.words('apiVersion'), kind: kind.words('kind') };
    const reference = this.#bindingSpec.object('paramRef');
    if (reference === undefined) return { ...type, notFound: 'Allow' };
    const name = reference.text('name');
    const namespace = reference.text('namespace');
    const selector = reference.selector('selector');
    if ((name === undefined || name === '') === (selector === undefined)) {
      reference.wrong('', 'must have either a name or a selector');
    }
    return {
      ...type,
      ...(name === undefined || name === '' ? {} : { name }),
      ...(namespace === undefined || namespace === '' ? {} : { namespace }),
      ...(selector === undefined ? {} : { selector }),
      notFound: reference.choice('parameterNotFoundAction', ['Allow', 'Deny']) ?? 'Allow',
    };
  }

  #rules(): readonly RuleModel[] {
    const actions = this.#bindingSpec.texts('validationActions') as readonly Action[];
    if (actions.length === 0 || actions.some((each) => !['Deny', 'Warn', 'Audit'].includes(each))) {
      this.#bindingSpec.wrong('validationActions', 'must name at least one of Deny, Warn, Audit');
    }
    if (actions.includes('Deny') && actions.includes('Warn')) {
      this.#bindingSpec.wrong('validationActions', 'must not contain both Deny and Warn');
    }
    const common = { severity: 'medium', actions, ratchet: false, exceptions: 'Never' } as const;
    const validations = this.#spec.objects('validations');
    const annotations = this.#spec.objects('auditAnnotations').map((each) => ({
      key: each.words('key'),
      value: expression(each, 'valueExpression'),
    }));
    if (validations.length === 0 && annotations.length === 0) {
      this.#spec.wrong('validations', 'and auditAnnotations are both empty: set at least one of them');
    }
    const rules = validations.map((each, index): RuleModel => {
      const message = each.text('message');
      const reason = each.choice('reason', REASONS);
      return {
        ...common,
        name: `validations[${index}]`,
        expression: expression(each, 'expression'),
        ...(message === undefined || message === '' ? {} : { message }),
        ...(each.has('messageExpression') ? { messageExpression: expression(each, 'messageExpression') } : {}),
        ...(reason === undefined ? {} : { reason }),
        auditAnnotations: [],
      };
    });
    if (annotations.length === 0) return rules;
    // Audit annotations belong to the policy, not to a validation, so a rule that always passes carries them.
    const carrier: RuleModel = {
      ...common,
      name: 'auditAnnotations',
      expression: { path: 'spec.auditAnnotations', text: 'true' },
      auditAnnotations: annotations,
    };
    return [...rules, carrier];
  }

  #mutations(): readonly MutationModel[] {
    const mutations = this.#spec.objects('mutations');
    if (mutations.length === 0) this.#spec.wrong('mutations', 'must have at least one');
    return mutations.map((each, index): MutationModel => {
      const patchType = each.choice('patchType', ['ApplyConfiguration', 'JSONPatch']) ?? 'ApplyConfiguration';
      if (!each.has('patchType')) each.wrong('patchType', 'is required: ApplyConfiguration or JSONPatch');
      const field = patchType === 'JSONPatch' ? 'jsonPatch' : 'applyConfiguration';
      const patch = each.object(field);
      if (patch === undefined) each.wrong(field, `is required for patchType ${patchType}`);
      return {
        name: `mutations[${index}]`,
        patchType,
        expression: patch === undefined ? { path: each.pathOf(field), text: '' } : expression(patch, 'expression'),
      };
    });
  }
}

function named(fields: readonly Fields[]): readonly NamedExpression[] {
  return fields.map((each) => ({ name: each.words('name'), ...expression(each, 'expression') }));
}

const expression = (fields: Fields, name: string): ExpressionModel => ({
  path: fields.pathOf(name),
  text: fields.words(name),
});

const kindOf = (object: Json): NativeKind | undefined =>
  KINDS.find((kind) => object.kind === kind || object.kind === `${kind}Binding`);

function nameOf(object: Json): string {
  const name = isObject(object.metadata) ? object.metadata.name : undefined;
  return typeof name === 'string' ? name : '';
}

const specOf = (object: Json): Json => (isObject(object.spec) ? object.spec : {});

function policyNameOf(binding: Json): string | undefined {
  const { policyName } = specOf(binding);
  return typeof policyName === 'string' ? policyName : undefined;
}

/** A revision: uid and generation in a cluster, a digest of the text in a file. */
function revisionOf(...objects: readonly Json[]): string {
  const digest = createHash('sha256');
  for (const object of objects) {
    const metadata = isObject(object.metadata) ? object.metadata : {};
    digest.update(JSON.stringify([metadata.uid ?? null, object.spec ?? null]));
  }
  return digest.digest('hex').slice(0, 16);
}

function unbound(policy: Json, kind: NativeKind): PolicyIssue {
  const name = nameOf(policy);
  return {
    severity: 'warning',
    code: 'no_binding',
    policy: name,
    path: '',
    message: `${kind} ${name} has no ${kind}Binding, and enforces nothing: add one with spec.policyName: ${name}`,
  };
}

function dangling(binding: Json, kind: NativeKind): PolicyIssue {
  const policyName = policyNameOf(binding);
  return {
    severity: 'warning',
    code: 'no_policy',
    policy: policyName ?? '',
    path: 'spec.policyName',
    message:
      policyName === undefined
        ? `${kind}Binding ${nameOf(binding)} names no policy: set spec.policyName`
        : `${kind}Binding ${nameOf(binding)} binds the ${kind} ${policyName}, which was not found: it enforces nothing`,
  };
}

/** Removes duplicates: a policy with several bindings is read once per binding and has the same issues each time. */
function unique(issues: readonly PolicyIssue[]): PolicyIssue[] {
  const seen = new Map(issues.map((issue) => [JSON.stringify(issue), issue]));
  return [...seen.values()];
}
