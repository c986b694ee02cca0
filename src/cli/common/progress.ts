/** A word now and then on standard error, where something takes longer than a second. */
export interface Progress {
  /** Called often: cheap while there is nothing to say. */
  step(words: () => string): void;
  end(): void;
}

const FIRST = 1000;
/** On a screen the line is written over; in a log each one stays. */
const SCREEN = 200;
const LOG = 10_000;

interface ProgressStream {
  write(text: string): unknown;
  readonly isTTY?: boolean;
}

export function progressOn(stream: ProgressStream, clock: () => number = () => performance.now()): Progress {
  const onScreen = stream.isTTY === true;
  let next = clock() + FIRST;
  let written = false;
  return {
    step(words) {
      const now = clock();
      if (now < next) return;
      next = now + (onScreen ? SCREEN : LOG);
      written = true;
      stream.write(onScreen ? `\r\u001b[K${words()}` : `${words()}\n`);
    },
    end() {
      if (written && onScreen) stream.write('\r\u001b[K');
    },
  };
}

export const noProgress: Progress = { step() {}, end() {} };
