/** `kidp rollout pause`, `resume`, `promote`, `abort` and `rollback`: what is said to a rollout, which the platform then does. */
import { operatorDeployment } from '../../api/index.ts';
import { ApiError, type Client } from '../../runtime/index.ts';
import { InputError } from '../common/failure.ts';
import { withManagement } from '../common/management.ts';
import type { WhereFlags } from '../common/management-flags.ts';
import type { Streams } from '../common/streams.ts';
import { existingRollout } from './find.ts';
import { isFinished, type Rollout, summaryOf } from './summary.ts';

export const controls = ['pause', 'resume', 'promote', 'abort', 'rollback'] as const;
export type Control = (typeof controls)[number];

export interface ChangeFlags extends WhereFlags {
  readonly stage?: number;
}

export async function changeRollout(
  name: string,
  control: Control,
  flags: ChangeFlags,
  streams: Streams,
): Promise<number> {
  return withManagement(flags, async (client) => {
    const found = await existingRollout(client, name);
    const { spec, message } = changeOf(found, control, flags.stage);
    if (spec !== undefined && !(await written(client, found, spec, streams))) return 1;
    streams.out.write(`rollout ${name}: ${message}\n`);
    return 0;
  });
}

interface Change {
  /** Undefined if nothing has to change. */
  readonly spec: Readonly<Record<string, unknown>> | undefined;
  readonly message: string;
}

/** `changeOf` returns the change to write, and throws if the control does not apply in the current phase. */
export function changeOf(rollout: Rollout, control: Control, stage?: number): Change {
  const { spec, status } = rollout;
  const { name, phase } = summaryOf(rollout);
  if (control === 'rollback') {
    if (status?.rollback?.finishedAt !== undefined) throw wrong(`${name} has been rolled back already`);
    return {
      spec: spec.rollback === true ? undefined : { rollback: true },
      message: `rolling back; see \`kidp rollout watch ${name}\``,
    };
  }
  if (isFinished({ phase })) {
    const next = phase === 'Completed' ? `; \`kidp rollout rollback ${name}\` rolls it back` : '';
    throw wrong(`${name} has ended (${phase}): there is nothing to ${control}${next}`);
  }
  switch (control) {
    case 'pause':
      return {
        spec: spec.paused === true ? undefined : { paused: true },
        message: 'paused; steps already started finish',
      };
    case 'resume':
      return { spec: spec.paused === true ? { paused: null } : undefined, message: 'resumed' };
    case 'abort':
      return {
        spec: spec.abort === true ? undefined : { abort: true },
        message: 'aborted; every cluster is left as it is',
      };
    case 'promote':
      return promotionOf(rollout, stage);
  }
}

function promotionOf({ metadata, spec, status }: Rollout, wanted: number | undefined): Change {
  const { stage = 0, plan } = status ?? {};
  const number = wanted ?? stage;
  if (number < 1)
    throw wrong(`no stage of ${metadata.name} has started yet; see \`kidp rollout status ${metadata.name}\``);
  const stages = plan?.stages.length ?? 0;
  if (number > stages) throw wrong(`--stage: ${metadata.name} has ${stages} stages, so there is no stage ${number}`);
  const message =
    spec.strategy === 'BlueGreen'
      ? 'traffic is switched as soon as the new version is healthy'
      : `stage ${number} ends as soon as it is healthy`;
  return { spec: (spec.promote ?? 0) >= number ? undefined : { promote: number }, message };
}

const wrong = (message: string): InputError => new InputError('rollout', `${message}.`);

/** Writes the change and returns whether it was accepted. The uid guards against a re-created object; the status may change meanwhile. */
async function written(
  client: Client,
  { metadata }: Rollout,
  spec: Readonly<Record<string, unknown>>,
  { err }: Streams,
): Promise<boolean> {
  const { name, uid } = metadata;
  const body = { metadata: uid === undefined ? {} : { uid }, spec };
  try {
    await client.patch(operatorDeployment.resource, { name }, { type: 'merge', body }, { fieldManager: 'kidp-cli' });
    return true;
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    err.write(`kidp: ${error.message}\n`);
    return false;
  }
}
