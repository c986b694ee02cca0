/** Converts policies between systems, with the Policy as the intermediate form. */
import { API_VERSION } from '../../api/index.ts';
import { type CompiledPolicy, compilePolicy } from '../engine/compile.ts';
import { readPolicy } from '../load/index.ts';
import { isNative, readNative } from '../native/read.ts';
import type { Json } from '../request.ts';
import { isConstraint, isTemplate, policiesFromGatekeeper } from './from-gatekeeper.ts';
import { isKyverno, policiesFromKyverno } from './from-kyverno.ts';
import { policyFromNative } from './from-native.ts';
import { Kinds } from './kinds.ts';
import { type ConversionNote, Notes, objectIn, textIn } from './notes.ts';
import { gatekeeperFromPolicy } from './to-gatekeeper.ts';
import { nativeFromPolicy } from './to-native.ts';

export type ConversionTarget = 'policy' | 'native' | 'gatekeeper';

export interface ConversionOptions {
  readonly to: ConversionTarget;
  /** The time in milliseconds since 1970: rules that are not enforced yet are converted to audit rules. */
  readonly now: number;
  /** The platform's own namespace, which is exempt from policies; `kidp-system` by default. */
  readonly platformNamespace?: string;
}

export interface Conversion {
  readonly objects: readonly Json[];
  readonly notes: readonly ConversionNote[];
}

/**
 * `convertPolicies` converts policies between kidp, Kubernetes, Gatekeeper and Kyverno. Objects of the target's kinds
 * are returned unchanged; objects that are no policies are omitted. CRDs among the objects provide the resource names
 * of their kinds.
 *
 *     const { objects, notes } = convertPolicies([policy], { to: 'native', now: Date.now() });
 *     for (const { severity, path, message } of notes) console.error(severity, path, message);
 */
export function convertPolicies(objects: readonly Json[], options: ConversionOptions): Conversion {
  const notes = new Notes();
  const kinds = new Kinds(objects);
  const { to } = options;
  const stays = (object: Json): boolean => {
    if (to === 'native') return isNative(object);
    return to === 'policy' ? isOurs(object) || isException(object) : isTemplate(object) || isConstraint(object);
  };
  const others = objects.filter((object) => !stays(object));
  const policies = [
    ...others.filter(isOurs),
    ...fromNative(others.filter(isNative), kinds, notes),
    ...policiesFromGatekeeper(others, kinds, notes),
    ...others.filter(isKyverno).flatMap((object) => policiesFromKyverno(object, kinds, notes)),
  ];
  for (const exception of others.filter(isException))
    notes.of(exception).refused('', 'exceptions have no native equivalent');
  const sound = policies.flatMap((policy) => checked(policy, notes));
  const made =
    to === 'policy'
      ? sound.map(({ policy }) => policy)
      : sound.flatMap(({ policy, compiled }) => {
          const description = textIn(objectIn(policy.spec).description);
          const write = to === 'native' ? nativeFromPolicy : gatekeeperFromPolicy;
          return write(compiled, { ...options, kinds, notes: notes.of(policy), description });
        });
  return { objects: [...objects.filter(stays), ...made], notes: notes.all };
}

const isOurs = (object: Json): boolean => object.apiVersion === API_VERSION && object.kind === 'Policy';
const isException = (object: Json): boolean => object.apiVersion === API_VERSION && object.kind === 'PolicyException';

function fromNative(objects: readonly Json[], kinds: Kinds, notes: Notes): readonly Json[] {
  const { models, issues } = readNative(objects);
  const policyOf = ({ kind, name }: { kind: string; name: string }): Json | undefined =>
    objects.find((object) => object.kind === kind && objectIn(object.metadata).name === name);
  for (const issue of issues) {
    const source = objects.find((object) => objectIn(object.metadata).name === issue.policy.split(' ')[0]);
    const about = notes.of(source ?? { kind: 'Policy', metadata: { name: issue.policy } });
    if (issue.severity === 'error') about.refused(issue.path, issue.message);
    else about.lost(issue.path, issue.message);
  }
  return models.map((model) => {
    const siblings = models.filter((each) => each.kind === model.kind && each.name === model.name);
    const source = policyOf(model) ?? {};
    const annotations = objectIn(objectIn(source.metadata).annotations);
    return policyFromNative(model, {
      kinds,
      notes: notes.of(source),
      name: siblings.length === 1 ? model.name : `${model.name}-${model.binding}`,
      description: textIn(annotations['kubernetes.io/description']),
    });
  });
}

/** An invalid Policy is not converted, because the result would be invalid too. */
function checked(policy: Json, notes: Notes): readonly { policy: Json; compiled: CompiledPolicy }[] {
  const { model, issues } = readPolicy(policy);
  const made = model === undefined ? { issues } : compilePolicy(model);
  for (const { severity, path, message } of made.issues) {
    if (severity === 'error') notes.of(policy).refused(path, message);
  }
  return 'policy' in made && made.policy !== undefined ? [{ policy, compiled: made.policy }] : [];
}
