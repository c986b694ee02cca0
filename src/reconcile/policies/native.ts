/**
 * ValidatingAdmissionPolicies with their bindings, for the scan: the API server enforces them, but does not report
 * existing violations.
 */
import { type CompiledPolicy, compilePolicy, readNative } from '../../policy/index.ts';
import type { Logger, Manager, Resource, UnknownObject } from '../../runtime/index.ts';

const registration = { group: 'admissionregistration.k8s.io', version: 'v1', namespaced: false };
const policies: Resource = {
  ...registration,
  plural: 'validatingadmissionpolicies',
  kind: 'ValidatingAdmissionPolicy',
};
const bindings: Resource = {
  ...registration,
  plural: 'validatingadmissionpolicybindings',
  kind: 'ValidatingAdmissionPolicyBinding',
};

/** `nativePolicies` watches them and returns a function that compiles what changed. */
export function nativePolicies(manager: Manager, changed: () => void, log: Logger): () => readonly CompiledPolicy[] {
  const known = new Map<string, { readonly revision: string; readonly policy: CompiledPolicy | undefined }>();
  for (const resource of [policies, bindings]) manager.caches.request({ resource });
  manager.add({
    name: 'native policies',
    leaderOnly: true,
    async start(signal) {
      const handlers = { added: changed, updated: changed, deleted: changed };
      const ends = [policies, bindings].map((resource) => manager.caches.subscribe(resource, {}, handlers));
      await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
      for (const end of ends) end();
    },
  });
  return () => {
    const objects = [policies, bindings].flatMap((resource) => manager.caches.store<UnknownObject>(resource).list());
    const { models } = readNative(objects);
    const present = new Set<string>();
    const compiled = models.flatMap((model) => {
      const id = `${model.name}/${model.binding ?? ''}`;
      present.add(id);
      let entry = known.get(id);
      if (entry?.revision !== model.revision) {
        const { policy, issues } = compilePolicy(model);
        if (policy === undefined) log.warn('ValidatingAdmissionPolicy not scanned', { policy: model.name, issues });
        entry = { revision: model.revision, policy };
        known.set(id, entry);
      }
      return entry.policy === undefined ? [] : [entry.policy];
    });
    for (const id of known.keys()) if (!present.has(id)) known.delete(id);
    return compiled;
  };
}
