/**
 * The fields of built-in Kubernetes types, as the models of the client library declare them. In the package, `npm run build` replaces
 * this file by one that contains them, so that the package does without the client library.
 */
import { createRequire } from 'node:module';

type Attribute = readonly [name: string, type: string, format: string];

interface Model {
  readonly attributeTypeMap: readonly { readonly baseName: string; readonly type: string; readonly format: string }[];
}

const load = createRequire(import.meta.url);

/** Each model is a small file that is loaded when it is first asked for. */
export function attributesOf(model: string): readonly Attribute[] {
  const module = load(`@kubernetes/client-node/dist/gen/models/${model}.js`) as Readonly<
    Record<string, Model | undefined>
  >;
  return (module[model]?.attributeTypeMap ?? []).map(({ baseName, type, format }) => [baseName, type, format]);
}
