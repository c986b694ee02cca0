/** Runs a tool of the machine that must succeed. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { ControlPlaneError } from '../errors.ts';

const execute = promisify(execFile);

/** Returns the standard output. */
export async function demand(program: string, flags: readonly string[]): Promise<string> {
  try {
    const { stdout } = await execute(program, flags, { maxBuffer: 64 * 1024 * 1024 });
    return stdout;
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') {
      throw new ControlPlaneError({
        code: 'nodes/command-failed',
        message: `${program} is not installed`,
        hint: 'On Debian and Ubuntu, as root: sh scripts/system-packages.sh',
        cause,
      });
    }
    const said = (cause as { stderr?: string }).stderr?.trim() || String(cause);
    throw new ControlPlaneError({
      code: 'nodes/command-failed',
      message: `${program} ${flags.join(' ')} failed: ${said}`,
      hint: 'Check that this machine lets root create network, mount and process namespaces.',
      cause,
    });
  }
}
