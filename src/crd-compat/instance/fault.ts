/** What is wrong with a value, and where. */

export interface Fault {
  /** In the value, such as `.spec.ports[0].name`; empty for the value as a whole. */
  readonly path: string;
  /** The keyword of the schema that it breaks, such as `maxLength` or `x-kubernetes-validations`. */
  readonly keyword: string;
  readonly message: string;
  /** The CEL rule, where it is one that fails. */
  readonly rule?: string;
}

export type Step = string | number;

/** `.spec.ports[0].name`; names that are no plain words are quoted: `.metadata.labels["app.kubernetes.io/name"]`. */
export function pathText(steps: readonly Step[]): string {
  let text = '';
  for (const step of steps) {
    if (typeof step === 'number') text += `[${step}]`;
    else text += PLAIN.test(step) ? `.${step}` : `[${JSON.stringify(step)}]`;
  }
  return text;
}

const PLAIN = /^[A-Za-z_$][\w$-]*$/;
