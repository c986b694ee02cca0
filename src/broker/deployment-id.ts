/**
 * A `DeploymentId` identifies a deployment: uid, generation and attempt of an object, joined by `/`. A message that is
 * sent twice is one deployment; a repair, a changed binding or a requested retry is a new one with a higher attempt.
 */
interface DeploymentId {
  readonly uid: string;
  readonly generation: number;
  readonly attempt: number;
}

export const formatDeploymentId = ({ uid, generation, attempt }: DeploymentId): string =>
  `${uid}/${generation}/${attempt}`;

const form = /^([^/\s]{1,64})\/(0|[1-9]\d{0,15})\/(0|[1-9]\d{0,9})$/;

/** Parses a deployment id; undefined if the text is not one. */
export function parseDeploymentId(text: string): DeploymentId | undefined {
  const [, uid, generation, attempt] = form.exec(text) ?? [];
  return uid === undefined ? undefined : { uid, generation: Number(generation), attempt: Number(attempt) };
}

/** Returns a negative number if `left` is older. Both must belong to the same object. */
export function compareDeployments(left: DeploymentId, right: DeploymentId): number {
  return left.generation - right.generation || left.attempt - right.attempt;
}
