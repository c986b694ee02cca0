/**
 * Converts policies of Kyverno in CEL to Policies: ValidatingPolicy, MutatingPolicy, and ClusterPolicy with
 * validate.cel.
 */
import { compilePolicy } from '../engine/compile.ts';
import { readPolicy } from '../load/index.ts';
import { readNative } from '../native/read.ts';
import type { Json } from '../request.ts';
import { policiesFromClusterPolicy } from './from-cluster-policy.ts';
import { policyFromNative } from './from-native.ts';
import type { Kinds } from './kinds.ts';
import { type Notes, objectIn, type SourceNotes, textIn, textsIn } from './notes.ts';

const CEL_KINDS: Readonly<Record<string, string>> = {
  ValidatingPolicy: 'ValidatingAdmissionPolicy',
  NamespacedValidatingPolicy: 'ValidatingAdmissionPolicy',
  MutatingPolicy: 'MutatingAdmissionPolicy',
  NamespacedMutatingPolicy: 'MutatingAdmissionPolicy',
};
const CONTROLLERS: Readonly<Record<string, string>> = {
  deployments: 'Deployment',
  statefulsets: 'StatefulSet',
  daemonsets: 'DaemonSet',
  replicasets: 'ReplicaSet',
  jobs: 'Job',
  cronjobs: 'CronJob',
};
/** Fields of Kyverno policies that Kubernetes policies do not have. */
const BEYOND = ['evaluation', 'webhookConfiguration', 'images', 'attestors', 'targetMatchConstraints'] as const;

export const isKyverno = (object: Json): boolean =>
  /^(?:policies\.)?kyverno\.io\//.test(String(object.apiVersion)) && typeof object.kind === 'string';

export function policiesFromKyverno(object: Json, kinds: Kinds, notes: Notes): readonly Json[] {
  const about = notes.of(object);
  if (/^policies\.kyverno\.io\//.test(String(object.apiVersion))) {
    const native = CEL_KINDS[String(object.kind)];
    if (native !== undefined) return celPolicy(object, native, kinds, about);
    about.refused('kind', `a ${object.kind} does more than validate or mutate in CEL and has no equivalent`);
    return [];
  }
  if (object.kind !== 'ClusterPolicy' && object.kind !== 'Policy') {
    about.refused('kind', `a ${object.kind} has no equivalent: use a ClusterPolicy with validate.cel`);
    return [];
  }
  return policiesFromClusterPolicy(object, kinds, about).filter((policy) => compiles(policy, about));
}

/** The policy has the shape of a native policy, with the binding inside, so it is read as one. */
function celPolicy(object: Json, kind: string, kinds: Kinds, notes: SourceNotes): readonly Json[] {
  const spec = objectIn(object.spec);
  const metadata = objectIn(object.metadata);
  const apiVersion = 'admissionregistration.k8s.io/v1';
  const validationActions = textsIn(spec.validationActions);
  const { models, issues } = readNative([
    { apiVersion, kind, metadata, spec },
    {
      apiVersion,
      kind: `${kind}Binding`,
      metadata,
      spec: {
        policyName: metadata.name,
        ...(kind === 'ValidatingAdmissionPolicy'
          ? { validationActions: validationActions.length === 0 ? ['Deny'] : validationActions }
          : {}),
      },
    },
  ]);
  for (const issue of issues) notes.refused(issue.path, issue.message);
  for (const field of BEYOND) if (spec[field] !== undefined) notes.lost(`spec.${field}`, 'has no equivalent');
  const autogen = objectIn(spec.autogen);
  const written = objectIn(autogen.podControllers).controllers;
  const podControllers =
    written === undefined ? Object.values(CONTROLLERS) : textsIn(written).flatMap((each) => CONTROLLERS[each] ?? []);
  const { namespace } = metadata as { namespace?: string };
  return models
    .map((model) =>
      policyFromNative(model, {
        kinds,
        notes,
        name: model.name,
        description: textIn(objectIn(metadata.annotations)['policies.kyverno.io/description']),
        podControllers,
      }),
    )
    .map((policy) => (namespace === undefined ? policy : withinNamespace(policy, namespace)))
    .filter((policy) => compiles(policy, notes));
}

function withinNamespace(policy: Json, namespace: string): Json {
  const spec = objectIn(policy.spec);
  return { ...policy, spec: { ...spec, selector: { ...objectIn(spec.selector), namespaces: [namespace] } } };
}

/**
 * Functions of Kyverno (`resource.Get`, `image(…)`, `http.Get` …) are not supported: the note names the expression that
 * calls one.
 */
function compiles(policy: Json, notes: SourceNotes): boolean {
  const { model, issues } = readPolicy(policy);
  const found = model === undefined ? issues : compilePolicy(model).issues;
  const errors = found.filter(({ severity }) => severity === 'error');
  for (const { path, message } of errors) {
    notes.refused(path, `${message}\n(functions and variables of Kyverno have no equivalent)`);
  }
  return errors.length === 0;
}
