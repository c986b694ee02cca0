/** A fault of a value: what is wrong, and where. */

export interface Fault {
  /** The path in the value, such as `.spec.ports[0].name`; empty for the value as a whole. */
  readonly path: string;
  /** The keyword of the schema that the value violates, such as `maxLength` or `x-kubernetes-validations`. */
  readonly keyword: string;
  readonly message: string;
  /** The CEL rule, if a rule failed. */
  readonly rule?: string;
}

export type Step = string | number;

/** `pathText` returns `.spec.ports[0].name`; other names are quoted: `.metadata.labels["app.kubernetes.io/name"]`. */
export function pathText(steps: readonly Step[]): string {
  let text = '';
  for (const step of steps) {
    if (typeof step === 'number') text += `[${step}]`;
    else text += PLAIN.test(step) ? `.${step}` : `[${JSON.stringify(step)}]`;
  }
  return text;
}

const PLAIN = /^[A-Za-z_$][\w$-]*$/;
