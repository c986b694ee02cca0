/**
 * Builds the Pod of a workload controller's template, so that a rule for Pods also applies to a Deployment.
 *
 * The Pod has the metadata of the template and the name and namespace of the controller. The selector (labels, names,
 * namespaces) and the expressions see this Pod; `request` is unchanged.
 */
import type { PodControllersModel, TypeMatch } from '../model.ts';
import type { Json } from '../request.ts';

/** The template paths of the six workload controllers of Kubernetes. */
const TEMPLATES: Readonly<Record<string, { readonly group: string; readonly path: string }>> = {
  Deployment: { group: 'apps', path: 'spec.template' },
  StatefulSet: { group: 'apps', path: 'spec.template' },
  DaemonSet: { group: 'apps', path: 'spec.template' },
  ReplicaSet: { group: 'apps', path: 'spec.template' },
  Job: { group: 'batch', path: 'spec.template' },
  CronJob: { group: 'batch', path: 'spec.jobTemplate.spec.template' },
};

/** `controllerTypes` returns the types that a policy for Pods also applies to, keyed by the path of their template. */
export function controllerTypes(model: PodControllersModel): ReadonlyMap<string, readonly TypeMatch[]> {
  const found = new Map<string, TypeMatch[]>();
  const add = (path: string, type: TypeMatch): void => void found.set(path, [...(found.get(path) ?? []), type]);
  for (const kind of model.kinds) {
    const template = Object.hasOwn(TEMPLATES, kind) ? TEMPLATES[kind] : undefined;
    if (template !== undefined) add(template.path, { group: template.group, version: '*', kind });
  }
  for (const { type, path } of model.additional) add(path.replace(/^\./, ''), type);
  return found;
}

/** `podOf` returns the Pod of the template at `path`, or null if there is none. */
export function podOf(object: Json | null, path: string): Json | null {
  const template = at(object, path);
  if (object === null || !isObject(template)) return null;
  const { name, namespace } = isObject(object.metadata) ? object.metadata : ({} as Json);
  const metadata = isObject(template.metadata) ? template.metadata : {};
  return {
    ...template,
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      ...metadata,
      ...(name === undefined ? {} : { name }),
      ...(namespace === undefined ? {} : { namespace }),
    },
  };
}

/** `fieldInController` translates a field of the Pod to its path in the workload controller. */
export function fieldInController(field: string, path: string): string {
  if (/^(metadata\.(name|namespace))?$/.test(field)) return field;
  return field.startsWith('[') ? `${path}${field}` : `${path}.${field}`;
}

function at(object: Json | null, path: string): unknown {
  let value: unknown = object;
  for (const step of path.split('.')) {
    if (!isObject(value) || !Object.hasOwn(value, step)) return undefined;
    value = value[step];
  }
  return value;
}

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
