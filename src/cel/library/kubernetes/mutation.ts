/** The objects that mutations construct: `Object{…}`, `Object.spec.template{…}` and `JSONPatch{…}`. */
import { CelError, type JsonMap, StructValue, typeOf, type Value } from '../../values.ts';

const PATCH = 'JSONPatch';
const PATCH_TEXTS = new Set(['op', 'path', 'from']);

/** `constructMutation` returns the value of `typeName{fields}`. The string fields of a JSONPatch default to "". */
export function constructMutation(typeName: string, fields: JsonMap): Value | CelError {
  if (typeName !== PATCH) return new StructValue(typeName, fields);
  const patch: Record<string, Value> = { op: '', path: '', from: '' };
  for (const [name, value] of Object.entries(fields)) {
    if (name !== 'value' && !PATCH_TEXTS.has(name)) {
      return new CelError('no_such_field', `unexpected JSONPatchType field: ${name}`);
    }
    if (PATCH_TEXTS.has(name) && typeof value !== 'string') {
      return new CelError(
        'invalid_argument',
        `unexpected type ${typeOf(value).name} for JSONPatchType '${name}' field`,
      );
    }
    patch[name] = value;
  }
  return new StructValue(typeName, patch);
}

/**
 * `misnamedObjects` lists wrong type names of the objects inside `value`: the object under `spec` of an `Object` must
 * be an `Object.spec`, and so on. Lists and maps in between have no name.
 */
export function misnamedObjects(value: Value, path: readonly string[] = ['Object']): readonly string[] {
  if (value instanceof StructValue) {
    const expected = path.join('.');
    const wrong =
      value.typeName === expected
        ? []
        : [
            `unexpected type name "${value.typeName}", expected "${expected}", which matches field name path from root Object type`,
          ];
    const inside = Object.entries(value.fields).flatMap(([name, field]) => misnamedObjects(field, [...path, name]));
    return [...wrong, ...inside];
  }
  if (Array.isArray(value)) return (value as readonly Value[]).flatMap((each) => misnamedObjects(each, path));
  return isPlainMap(value) ? Object.values(value).flatMap((each) => misnamedObjects(each, path)) : [];
}

function isPlainMap(value: Value): value is JsonMap {
  if (typeof value !== 'object' || value === null) return false;
  const prototype = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}
