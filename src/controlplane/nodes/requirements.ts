/** What real nodes need of this machine. */
import { accessSync, constants, existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/** The folder with the CNI plugins, where distributions put it. */
const pluginFolders = ['/usr/lib/cni', '/opt/cni/bin', '/usr/libexec/cni'];
const pluginNames = ['bridge', 'host-local', 'loopback', 'portmap'];
const programs = [
  'containerd',
  'containerd-shim-runc-v2',
  'runc',
  'ctr',
  'iptables',
  'ip',
  'mmdebstrap',
  'unshare',
  'nsenter',
  'mount',
];

export function pluginFolder(): string | undefined {
  return pluginFolders.find((folder) => pluginNames.every((name) => existsSync(join(folder, name))));
}

/** Returns what is missing, one sentence each; empty if real nodes can start. */
export function missingForNodes(): readonly string[] {
  if (process.platform !== 'linux') return [`real nodes need Linux, and this is ${process.platform}`];
  const missing: string[] = [];
  if (process.getuid?.() !== 0) missing.push('real nodes need root, for network and mount namespaces');
  const absent = programs.filter((name) => !isOnPath(name));
  if (absent.length > 0) missing.push(`not installed: ${absent.join(', ')}`);
  if (pluginFolder() === undefined)
    missing.push(`no CNI plugins (${pluginNames.join(', ')}) in ${pluginFolders.join(', ')}`);
  return missing;
}

/** Returns what is missing to build images, one sentence each. */
export function missingForImages(): readonly string[] {
  const absent = ['mmdebstrap', 'tar', 'npm', 'go'].filter((name) => !isOnPath(name));
  return absent.length === 0 ? [] : [`not installed: ${absent.join(', ')}`];
}

function isOnPath(name: string): boolean {
  return (process.env.PATH ?? '').split(delimiter).some((folder) => {
    try {
      accessSync(join(folder, name), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}
