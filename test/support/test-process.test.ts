import { describe, expect, test } from 'vitest';
import {
  eventuallyFrom,
  lineFrom,
  ProcessGroup,
  startTestProcess,
  type TestProcess,
  whileRunning,
} from './test-process.ts';

const script = (source: string): TestProcess => startTestProcess('the script', process.execPath, ['-e', source]);
const forever = 'setInterval(() => undefined, 1_000);';
/** Far longer than the test takes: if a wait ran into it, the test would fail by its own limit. */
const patient = { within: 3_600_000 };

describe('a wait for something that a process must do', () => {
  const waits = [
    { reason: 'a check', wait: (from: TestProcess) => eventuallyFrom(from, () => false, patient) },
    { reason: 'a line', wait: (from: TestProcess) => lineFrom(from, /^never$/, patient) },
    { reason: 'any promise', wait: (from: TestProcess) => whileRunning(from, new Promise(() => undefined)) },
  ];

  test.each(waits)('fails at once when the process is killed: $reason', async ({ wait }) => {
    const child = script(`console.log('up'); ${forever}`);
    await lineFrom(child, /^up$/);
    const waiting = wait(child);
    child.child.kill('SIGKILL');
    await expect(waiting).rejects.toThrow(/^the script was killed by SIGKILL.*; its last output:\nup$/s);
  });

  test.each(waits)('fails at once when the process has exited before: $reason', async ({ wait }) => {
    const child = script(`console.error('no such file'); process.exit(3);`);
    await child.exited;
    await expect(wait(child)).rejects.toThrow(/^the script exited with code 3.*; its last output:\nno such file$/s);
  });

  test('says what the test waited for', async () => {
    const waiting = eventuallyFrom(script(''), () => false, { ...patient, waitedFor: 'the lease' });
    await expect(waiting).rejects.toThrow('the script exited with code 0 while the test waited for the lease');
  });

  test('fails at once when the program does not exist', async () => {
    const child = startTestProcess('nothing', '/no/such/program', []);
    await expect(lineFrom(child, /up/, patient)).rejects.toThrow(/^nothing could not be started.*ENOENT/s);
  });
});

describe('a wait that is met', () => {
  test('returns the value of its check, also if that is all the process did before it exited', async () => {
    const child = script(`console.log('port 4711');`);
    expect((await lineFrom(child, /^port (\d+)$/))[1]).toBe('4711');
    await child.exited;
    expect(await eventuallyFrom(child, () => child.output().trim())).toBe('port 4711');
  });

  test('keeps its own error', async () => {
    const child = script(forever);
    const failing = () => {
      throw new Error('not yet');
    };
    await expect(eventuallyFrom(child, failing, { within: 1 })).rejects.toThrow('not yet');
    await expect(whileRunning(child, Promise.reject(new Error('refused')))).rejects.toThrow('refused');
    expect(await child.kill()).toEqual({ code: null, signal: 'SIGKILL' });
  });
});

describe('a group of processes', () => {
  test('fails every wait when one exits that was not killed', async () => {
    const group = new ProcessGroup();
    const [one, other] = [group.add(script(forever)), group.add(script(forever))];
    await one.kill();
    expect(await group.eventually(() => 'met')).toBe('met');
    const waiting = group.eventually(() => false, patient);
    other.child.kill('SIGKILL');
    await expect(waiting).rejects.toThrow('the script was killed by SIGKILL');
    await expect(group.whileRunning(new Promise(() => undefined))).rejects.toThrow('was killed by SIGKILL');
  });
});
