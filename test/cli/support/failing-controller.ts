/** Preloaded into `kidp up`: the event recorder fails on SIGUSR2. */
import { EventRecorder } from '../../../src/runtime/index.ts';

EventRecorder.prototype.start = (signal) =>
  new Promise((resolve, reject) => {
    process.once('SIGUSR2', () => reject(Object.assign(new Error('this part has failed'), { code: 'test/failed' })));
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
