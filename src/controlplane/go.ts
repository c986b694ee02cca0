/** Runs Go, isolated from the user's settings, and turns failures into one sentence with the next step. */
import type { Architecture, Environment } from './cache.ts';
import { runCommand } from './command.ts';
import { ControlPlaneError } from './errors.ts';

const wantedGo = { major: 1, minor: 26 };

const orBinaries =
  'or set KUBEBUILDER_ASSETS to a directory that holds etcd, kube-apiserver, kubectl and the other binaries you need';

interface GoRun {
  directory: string;
  environment: Environment;
  /** The default is that of this machine. */
  architecture?: Architecture;
  /** Go's temporary folder. */
  temporary?: string;
  onError?: (text: string) => void;
}

/** `go` returns the standard output. */
export async function go(flags: readonly string[], run: GoRun): Promise<string> {
  const { directory, onError } = run;
  const { code, output, errors } = await runCommand('go', flags, {
    directory,
    environment: goEnvironment(run),
    onError,
  }).catch((cause: Error) => {
    throw noGo(cause);
  });
  if (code !== 0) throw explain(flags, errors);
  return output;
}

/** Returns the version, such as `go1.26.8`; fails if Go is missing or too old for the recipes. */
export async function requireGo(run: GoRun): Promise<string> {
  const version = (await go(['env', 'GOVERSION'], run)).trim();
  const parts = /^go(\d+)\.(\d+)/.exec(version);
  const [major, minor] = [Number(parts?.[1]), Number(parts?.[2])];
  // A development build (`devel go1.27-…`) has no plain version and counts as new enough.
  if (parts !== null && (major < wantedGo.major || (major === wantedGo.major && minor < wantedGo.minor))) {
    throw new ControlPlaneError({
      code: 'assets/go-too-old',
      message: `Go ${version.slice(2)} is too old to build the control plane`,
      hint: `Install Go ${wantedGo.major}.${wantedGo.minor} or newer, ${orBinaries}.`,
    });
  }
  return version;
}

/** `explain` turns the output of Go into an error with the next step. */
export function explain(flags: readonly string[], said: string): ControlPlaneError {
  const lines = said.trim().split('\n');
  const about = (pattern: RegExp) => lines.findLast((line) => pattern.test(line))?.trim() ?? '';
  const doing = `go ${flags[0]}`;
  const full = /no space left on device|ENOSPC|disk quota exceeded/i;
  if (full.test(said)) return diskFull(`${doing} found no space: ${about(full)}`);
  const barred = /permission denied|read-only file system/i;
  if (barred.test(said)) return noPermission(`${doing} cannot write: ${about(barred)}`);
  const offline =
    /dial tcp|no such host|connection refused|connection reset|i\/o timeout|TLS handshake timeout|proxyconnect|network is unreachable|module lookup disabled|unexpected EOF|5\d\d (Bad Gateway|Service Unavailable|Gateway)|context deadline exceeded/i;
  if (offline.test(said)) {
    return new ControlPlaneError({
      code: 'assets/no-network',
      message: `Go modules could not be downloaded: ${about(offline)}`,
      hint: 'Check the network and GOPROXY, then run the command again: what was downloaded is kept.',
    });
  }
  return new ControlPlaneError({
    code: 'assets/build-failed',
    message: `${doing} failed: ${lines.slice(-12).join('\n')}`,
    hint: `Run the command again, ${orBinaries}.`,
  });
}

export function diskFull(message: string, cause?: unknown): ControlPlaneError {
  return new ControlPlaneError({
    code: 'assets/disk-full',
    message,
    hint: 'Free some space (`go clean -cache` and `go clean -modcache` empty Go’s own caches), then run the command again.',
    cause,
  });
}

export function noPermission(message: string, cause?: unknown): ControlPlaneError {
  return new ControlPlaneError({
    code: 'assets/no-permission',
    message,
    hint: 'Make the directory writable for this user, or set KIDP_CACHE (for Go: GOCACHE, GOMODCACHE) to one that is.',
    cause,
  });
}

function noGo(cause: Error): ControlPlaneError {
  return new ControlPlaneError({
    code: 'assets/no-go',
    message: `Go, which builds the control plane, was not found on PATH (${cause.message})`,
    hint: `Install Go ${wantedGo.major}.${wantedGo.minor} or newer, ${orBinaries}.`,
    cause,
  });
}

/**
 * Proxies and caches of the user apply; settings that would change the result (flags, a workspace, another platform) do
 * not.
 */
function goEnvironment(run: GoRun): Record<string, string | undefined> {
  const { GOOS, GOARCH, GOEXPERIMENT, GO111MODULE, ...kept } = run.environment;
  return {
    ...kept,
    CGO_ENABLED: '0',
    GOFLAGS: '-buildvcs=false',
    GOWORK: 'off',
    GOTOOLCHAIN: 'local',
    ...(run.architecture === undefined ? {} : { GOARCH: run.architecture === 'x64' ? 'amd64' : run.architecture }),
    ...(run.temporary === undefined ? {} : { GOTMPDIR: run.temporary }),
  };
}
