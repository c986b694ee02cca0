import { describe, expect, it } from 'vitest';
import { ApiError } from '../../runtime/index.ts';
import { exitCodeOf } from '../common/failure.ts';
import { readAndWrite } from './tries.ts';

const refused = (status: number, reason: string) =>
  new ApiError({ doing: 'patch clusters', status, reason, message: reason });

/** How often it was tried, and what came of it. */
async function triesOf(failures: readonly unknown[]): Promise<{ tries: number; failure: unknown }> {
  const left = [...failures];
  let tries = 0;
  const failure = await readAndWrite('east', async () => {
    tries += 1;
    const next = left.shift();
    if (next !== undefined) throw next;
  }).catch((error: unknown) => error);
  return { tries, failure };
}

describe('what is read and then written', () => {
  const conflict = () => refused(409, 'Conflict');
  const rows = [
    { reason: 'nobody came in between', failures: [], tries: 1 },
    { reason: 'the platform came in between twice', failures: [conflict(), conflict()], tries: 3 },
  ];
  it.each(rows)('is written where $reason', async ({ failures, tries }) => {
    expect(await triesOf(failures)).toEqual({ tries, failure: undefined });
  });

  it('is not tried again where it is not allowed', async () => {
    const forbidden = refused(403, 'Forbidden');
    expect(await triesOf([forbidden])).toEqual({ tries: 1, failure: forbidden });
  });

  it('is given up where others never stop, which is a failure and not bad input', async () => {
    const { tries, failure } = await triesOf(Array.from({ length: 20 }, conflict));
    expect(tries).toBe(10);
    expect(failure).toMatchObject({ message: 'the Cluster east is being changed by others all the time: try again.' });
    expect(exitCodeOf(failure)).toBe(1);
  });
});
