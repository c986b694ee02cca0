import { expect, test } from 'vitest';
import { Interrupted, startSteps } from './steps.ts';

test('prints each step with the time it took', async () => {
  let time = 0;
  let text = '';
  const steps = startSteps({ write: (more) => (text += more) }, new Promise(() => undefined), () => time);
  const result = await steps.step('etcd', async () => {
    time += 1_234;
    return 'ready';
  });
  expect(result).toBe('ready');
  expect(text).toMatch(/^ {2}etcd +1\.2 s\n$/);
  expect(steps.seconds()).toBeCloseTo(1.234);
});

test('a stop interrupts the current step and every later one', async () => {
  let stop: (reason: string) => void = () => undefined;
  const steps = startSteps({ write: () => undefined }, new Promise((resolve) => (stop = resolve)));
  const hanging = steps.step('build', () => new Promise(() => undefined));
  stop('SIGINT');
  await expect(hanging).rejects.toBeInstanceOf(Interrupted);
  await expect(steps.step('later', async () => 1)).rejects.toMatchObject({ reason: 'SIGINT' });
});

test('work that must not be cut off finishes before a stop takes effect', async () => {
  let stop: (reason: string) => void = () => undefined;
  const steps = startSteps({ write: () => undefined }, new Promise((resolve) => (stop = resolve)));
  let end: () => void = () => undefined;
  let ended = false;
  const work = steps.whole('kinds', async () => {
    await new Promise<void>((resolve) => (end = resolve));
    ended = true;
  });
  const outcome = work.catch((error: unknown) => ({ error, ended }));
  stop('SIGINT');
  await new Promise((resolve) => setImmediate(resolve));
  expect(ended).toBe(false);
  end();
  expect(await outcome).toEqual({ error: new Interrupted('SIGINT'), ended: true });
});
