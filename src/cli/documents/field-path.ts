/** `spec.containers[1].image`, `.metadata.labels["a.b/c"]`, `metadata.labels[a.b/c]`: the way to a field, as rules and explanations write it. */
export type FieldPath = readonly (string | number)[];

/** What cannot be read ends the path: the part before it still leads somewhere. */
export function parseFieldPath(text: string): FieldPath {
  const path: (string | number)[] = [];
  STEP.lastIndex = 0;
  for (let match = STEP.exec(text); match !== null; match = STEP.exec(text)) {
    const [, name, index, double, single, bare] = match;
    if (name !== undefined) path.push(name);
    else if (index !== undefined) path.push(Number(index));
    else path.push(bare ?? (double ?? single ?? '').replace(/\\(.)/g, '$1'));
    if (STEP.lastIndex >= text.length) break;
  }
  // `object` is what the path starts from, in an expression.
  return path[0] === 'object' && path.length > 1 ? path.slice(1) : path;
}

const STEP = /\.?([^.[\]"']+)|\[([0-9]+)\]|\["((?:[^"\\]|\\.)*)"\]|\['((?:[^'\\]|\\.)*)'\]|\[([^\]"']+)\]/y;
