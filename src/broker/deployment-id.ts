/**
 * The identity of a deployment: uid, generation and attempt of an object, joined by `/`. Sending it twice is one deployment; a repair,
 * a changed binding or a deliberate retry is a new one, with a higher attempt.
 */
interface DeploymentId {
  readonly uid: string;
  readonly generation: number;
  readonly attempt: number;
}

export const formatDeploymentId = ({ uid, generation, attempt }: DeploymentId): string =>
  `${uid}/${generation}/${attempt}`;

const form = /^([^/\s]{1,64})\/(0|[1-9]\d{0,15})\/(0|[1-9]\d{0,9})$/;

/** Undefined where the text is no such identity. */
export function parseDeploymentId(text: string): DeploymentId | undefined {
  const [, uid, generation, attempt] = form.exec(text) ?? [];
  return uid === undefined ? undefined : { uid, generation: Number(generation), attempt: Number(attempt) };
}

/** Less than 0 where `left` is older. Both must be of one object. */
export function compareDeployments(left: DeploymentId, right: DeploymentId): number {
  return left.generation - right.generation || left.attempt - right.attempt;
}
