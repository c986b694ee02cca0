/** Finds the params objects of a policy. */
import type { Missing } from '../match/match.ts';
import type { Json } from '../request.ts';
import type { ObjectQuery } from '../world.ts';
import type { CompiledPolicy } from './compile.ts';
import type { Scope } from './scope.ts';

export type Params =
  | { readonly objects: readonly (Json | null)[] }
  | { readonly none: 'Allow' | 'Deny'; readonly description: string }
  | Missing;

export function findParams({ model }: CompiledPolicy, { subject }: Scope): Params {
  const params = model.params as NonNullable<typeof model.params>;
  // The binding of a native policy may have no paramRef.
  if (params.name === undefined && params.selector === undefined) return { objects: [null] };
  const namespace = params.namespace ?? (subject.isNamespace ? '' : subject.namespace);
  const query: ObjectQuery = {
    apiVersion: params.apiVersion,
    kind: params.kind,
    ...(namespace === '' ? {} : { namespace }),
    ...(params.name === undefined ? {} : { name: params.name }),
    ...(params.selector === undefined ? {} : { selector: params.selector }),
  };
  const found = subject.world.find(query);
  if (found === undefined) return { what: 'objects', detail: `objects of ${params.apiVersion} ${params.kind}` };
  // Without a namespace, only cluster-scoped params are used; otherwise any user could create params in their
  // namespace.
  const meant = namespace === '' ? found.filter(({ metadata }) => !isNamespaced(metadata)) : found;
  if (meant.length > 0) return { objects: meant };
  const name = params.name === undefined ? 'that matches the selector' : `named ${params.name}`;
  const unsaid = found.length > 0 ? ' (set spec.params.namespace)' : '';
  const where = namespace === '' ? unsaid : ` in namespace ${namespace}`;
  return { none: params.notFound, description: `there is no ${params.kind} ${name}${where}` };
}

const isNamespaced = (metadata: unknown): boolean =>
  typeof (metadata as { namespace?: unknown } | null | undefined)?.namespace === 'string';
