/** The progress of a build: events from the output of Go and Maven, and their text. */

export interface Progress {
  asset: string;
  version: string;
  /** `wait` means that another process builds the same asset. `done` is sent once, after a build or a wait. */
  step: 'wait' | 'download' | 'compile' | 'link' | 'prepare' | 'done';
  done: number;
  total: number;
  /** The unit of a download; the default is modules. */
  unit?: 'jars';
  seconds: number;
  /** The process that a `wait` waits for. */
  processId?: number;
}

/** Counts the matching lines of a tool's output, which arrives in chunks that can end inside a line. */
export function countLines(isCounted: (line: string) => boolean, onCount: (count: number, line: string) => void) {
  let rest = '';
  let count = 0;
  return (text: string): void => {
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) if (isCounted(line)) onCount(++count, line);
  };
}

/** Matches `go: downloading k8s.io/api v0.36.3`. */
export const isDownload = (line: string): boolean => line.startsWith('go: downloading ');
/** `go build -v` prints the path of a package, alone on its line, as it compiles it. */
export const isPackage = (line: string): boolean => /^[a-z0-9][^\s:]*$/i.test(line);

export function formatProgress(progress: Progress): string {
  const what = `${progress.asset} ${progress.version}`;
  const took = formatDuration(progress.seconds);
  switch (progress.step) {
    case 'wait':
      return `waiting for process ${progress.processId}, which is building ${what}, ${took}`;
    case 'download':
      return `downloading ${what}: ${number(progress.done)} of about ${number(progress.total)} ${progress.unit ?? 'modules'}, ${took}`;
    case 'compile':
      return `building ${what}: ${number(progress.done)} of ${number(progress.total)} packages, ${took}`;
    case 'link':
      return `linking ${what}, ${took}`;
    case 'prepare':
      return `preparing ${what}, ${took}`;
    case 'done':
      return `${what} is ready after ${took}`;
  }
}

interface ProgressOutput {
  isTTY?: boolean | undefined;
  columns?: number | undefined;
  write(text: string): unknown;
}

/** Rewrites one line on a terminal; elsewhere writes a line at each new step and every 15 s. */
export function renderProgress(output: ProgressOutput, now: () => number = Date.now): (progress: Progress) => void {
  let lastStep = '';
  let lastTime = Number.NEGATIVE_INFINITY;
  return (progress) => {
    const step = `${progress.asset} ${progress.step}`;
    const text = formatProgress(progress);
    if (output.isTTY === true) {
      output.write(`\r\u001b[2K${text.slice(0, (output.columns ?? 80) - 1)}${progress.step === 'done' ? '\n' : ''}`);
    } else if (step !== lastStep || now() - lastTime >= 15_000) {
      output.write(`${text}\n`);
      lastTime = now();
    }
    lastStep = step;
  };
}

function formatDuration(seconds: number): string {
  const whole = Math.floor(seconds);
  return whole < 60 ? `${whole} s` : `${Math.floor(whole / 60)} min ${whole % 60} s`;
}

function number(value: number): string {
  return value.toLocaleString('en-US');
}
