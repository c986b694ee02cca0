/** Checks whether the object of a request conforms to the schema of its kind, like the API server does. */
import { GROUP, kindNamed, openApiOf } from '../../api/index.ts';
import type { CrdSchema } from '../../crd-compat/index.ts';
import { type Validator, validator } from '../../crd-compat/internal.ts';
import type { AdmissionRequest } from '../review/decode.ts';
import type { Violation } from '../review/findings.ts';

const validators = new Map<string, Validator>();

/** Returns the first fault of the new or the old object; undefined if there is none, or the kind is not ours. */
export function schemaViolation({ kind, object, oldObject }: AdmissionRequest): Violation | undefined {
  const known = kind.group === GROUP ? kindNamed(kind.kind) : undefined;
  if (known === undefined) return undefined;
  const checks = validators.get(known.kind) ?? validator(openApiOf(known) as CrdSchema);
  validators.set(known.kind, checks);
  const [fault] = [object, oldObject].flatMap((each) => (each === undefined ? [] : checks.validate(each)));
  return (
    fault && {
      gate: 'schema',
      code: 'SchemaMismatch',
      field: fault.path.replace(/^\./, ''),
      message: `the ${kind.kind} does not conform to its schema: ${fault.path === '' ? 'the object' : fault.path} ${fault.message}`,
      next: `Compare it with kubectl explain ${known.plural}`,
      reason: 'Invalid',
    }
  );
}
