/**
 * The environment variables of bound resources: `DATABASE_USERS_PASSWORD` is the entry `password` of the Database `users`.
 *
 * A name depends on nothing but the resource and the entry, so it never changes because something else is bound. Different
 * resources can have the same name for a variable: that is an error, and never resolved by overwriting one of them.
 */
interface Resource {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
}

/** Two resources that have a variable of the same name; one resource twice if two of its keys have it. */
interface VariableConflict<T extends Resource> {
  readonly first: T;
  readonly second: T;
  /** Names both entries, for messages. */
  readonly text: string;
}

export const variableName = ({ kind, name }: Resource, key: string): string =>
  `${kind}_${name}_${key}`.toUpperCase().replaceAll(/[^A-Z0-9]/g, '_');

/** `variableConflicts` lists the conflicts among resources and the keys of their connections, in order. */
export function variableConflicts<T extends Resource>(
  connections: Iterable<readonly [T, readonly string[]]>,
): VariableConflict<T>[] {
  const taken = new Map<string, readonly [T, string]>();
  const conflicts: VariableConflict<T>[] = [];
  for (const [second, keys] of connections) {
    for (const key of keys) {
      const variable = variableName(second, key);
      const holder = taken.get(variable);
      if (holder === undefined) taken.set(variable, [second, key]);
      else {
        const [first, other] = holder;
        const text = `entry ${other} of ${described(first)} and entry ${key} of ${described(second)} are both the variable ${variable}`;
        conflicts.push({ first, second, text });
      }
    }
  }
  return conflicts;
}

const described = ({ kind, namespace, name }: Resource): string => `${kind} ${namespace}/${name}`;
