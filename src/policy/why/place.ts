/** The origin of a value: a variable and a path with the actual indices and keys. */
import { fieldInController } from '../engine/pods.ts';

export interface Place {
  /** The variable: `object`, `oldObject`, `params`, a context variable … */
  readonly root: string;
  readonly steps: readonly (string | number)[];
}

export const below = (place: Place, step: string | number): Place => ({
  root: place.root,
  steps: [...place.steps, step],
});

/** `stepsText` writes `spec.containers[1].image` or `metadata.labels["app.kubernetes.io/name"]`. */
export function stepsText(steps: readonly (string | number)[]): string {
  let text = '';
  for (const step of steps) {
    if (typeof step === 'number') text += `[${step}]`;
    else if (!/^[A-Za-z_][A-Za-z0-9_-]*$/.test(step)) text += `[${JSON.stringify(step)}]`;
    else text += text === '' ? step : `.${step}`;
  }
  return text;
}

/** `placeText` writes a path without `object`. `prefix` is the path of the Pod template in its workload controller. */
export function placeText({ root, steps }: Place, prefix?: string): string {
  const own = prefix !== undefined && (root === 'object' || root === 'oldObject');
  const text = own ? fieldInController(stepsText(steps), prefix) : stepsText(steps);
  if (root === 'object') return text === '' ? 'object' : text;
  if (text === '') return root;
  return text.startsWith('[') ? `${root}${text}` : `${root}.${text}`;
}
