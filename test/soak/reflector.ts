/**
 * The reflector for a long time: ten thousand lost connections without growing, then every fault at random on a real
 * control plane for as long as asked. `npm run soak -- reflector --minutes 30`.
 */
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { type ControlPlane, startControlPlane } from '../../src/controlplane/index.ts';
import { connect, type KubernetesObject, loadKubeconfig } from '../../src/runtime/index.ts';
import { churn, configMaps, createNamespace, follow } from '../runtime/support/churn.ts';
import { startTcpProxy } from '../runtime/support/fault-proxy.ts';
import type { Line, Memory } from '../runtime/support/reconnecting.ts';

export async function run({ minutes, log }: { minutes: number; log: (line: string) => void }): Promise<void> {
  const controlPlane = await startControlPlane();
  try {
    const { kubeconfig, url } = controlPlane;
    const client = connect(loadKubeconfig({ file: kubeconfig }));
    const namespace = await createNamespace(client, 'reconnects');
    await client.close();
    const growth = await loseConnections({ kubeconfig, url, namespace, times: 10_000, warmUp: 1_000 });
    log(
      `${growth.reconnects} reconnects over TLS: heap and buffers grew by ${growth.reachableKilobytes} KB (buffers ${growth.bufferKilobytes} KB), ` +
        `resident memory by ${growth.residentKilobytes} KB, in the second half by ${growth.residentLaterKilobytes} KB; ${growth.sockets} sockets left`,
    );
    // Of a connection that is kept OpenSSL has tens of kilobytes, which resident memory alone shows. That of a process that has just
    // started goes on to grow to what it needs at most, so the second half is the judge of it.
    if (growth.reachableKilobytes > 2_048 || growth.residentLaterKilobytes > 16_384 || growth.sockets > 0) {
      throw new Error('something grows with every reconnect');
    }
    await hurt(controlPlane, minutes, log);
  } finally {
    await controlPlane.stop();
  }
}

export interface Growth {
  reconnects: number;
  /** Between the end of the warm-up and the last reconnect, after everything unreachable was collected. */
  reachableKilobytes: number;
  bufferKilobytes: number;
  residentKilobytes: number;
  /** Of that, in the second half. */
  residentLaterKilobytes: number;
  /** Once all is closed. */
  sockets: number;
}

const program = join(import.meta.dirname, '..', 'runtime', 'support', 'reconnecting.ts');

/**
 * A process follows the real API server over TLS, and every one of its watches is cut off in between: with a reset, with an end, after a
 * change; and every tenth connection somewhere in its first bytes, in the handshake or in the request.
 */
export async function loseConnections(input: {
  kubeconfig: string;
  url: string;
  namespace: string;
  times: number;
  warmUp: number;
}): Promise<Growth> {
  const { kubeconfig, namespace, times, warmUp } = input;
  const config = loadKubeconfig({ file: kubeconfig });
  const direct = connect(config);
  const proxy = await startTcpProxy(() => input.url);
  proxy.resetFraction = 0.1;
  const words = [kubeconfig, proxy.config(config).server, namespace, String(warmUp), String(times)];
  const child = spawn(process.execPath, ['--no-warnings', '--expose-gc', program, ...words], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const exited = new Promise((resolve) => child.once('close', resolve));
  try {
    let opens = 0;
    let awaitsChange = false;
    const change = () =>
      direct.apply(
        configMaps,
        {
          apiVersion: 'v1',
          kind: 'ConfigMap',
          metadata: { namespace, name: 'changing' },
          data: { opens: `${opens}` },
        } as KubernetesObject,
        { fieldManager: 'soak' },
      );
    for await (const text of createInterface({ input: child.stdout })) {
      const line = JSON.parse(text) as Line;
      if (line.event === 'end') return growthOf(line.looks, { reconnects: times, sockets: line.sockets });
      if (line.event === 'changed') {
        if (awaitsChange) proxy.cut();
        awaitsChange = false;
        continue;
      }
      opens += 1;
      if (opens % 10 === 0) {
        awaitsChange = true;
        await change();
      } else if (opens % 2 === 0) proxy.hangUp();
      else proxy.cut();
    }
    throw new Error(`the process that reconnects exited early, after ${opens} connections`);
  } finally {
    child.stdin.end();
    await exited;
    await proxy.close();
    await direct.close();
  }
}

function growthOf(looks: readonly Memory[], more: { reconnects: number; sockets: number }): Growth {
  const [before, middle, after] = looks as [Memory, Memory, Memory];
  const kilobytes = (what: keyof Memory, since: Memory) => Math.round((after[what] - since[what]) / 1024);
  return {
    ...more,
    reachableKilobytes: kilobytes('reachable', before),
    bufferKilobytes: kilobytes('arrayBuffers', before),
    residentKilobytes: kilobytes('resident', before),
    residentLaterKilobytes: kilobytes('resident', middle),
  };
}

/** Writes all the time, breaks something again and again, and asks after each fault that everything is known. */
async function hurt(controlPlane: ControlPlane, minutes: number, log: (line: string) => void): Promise<void> {
  const config = loadKubeconfig({ file: controlPlane.kubeconfig });
  const direct = connect(config);
  const proxy = await startTcpProxy(() => controlPlane.url);
  const client = connect(proxy.config(config));
  const namespace = await createNamespace(direct, 'soak');
  const follower = follow(client, namespace);
  await follower.reflector.synced();
  const faults = faultsOn(controlPlane, proxy);
  const names = Object.keys(faults);
  const end = Date.now() + minutes * 60_000;
  try {
    for (let round = 0; round < names.length || Date.now() < end; round += 1) {
      const name = names[round % names.length] as string;
      let writing = true;
      const writer = (async () => {
        for (let turn = 0; writing; turn += 1) {
          await churn(direct, { namespace, names: 50, writes: 20, tag: `${round}-${turn}` });
        }
      })();
      await faults[name]?.();
      writing = false;
      await writer;
      await follower.agree(direct);
      log(
        `round ${round + 1}, ${name}: all ${follower.replica().size} objects as they should be, ${follower.relists} relists so far`,
      );
    }
  } finally {
    await follower.stop();
    await client.close();
    await proxy.close();
    await direct.close();
  }
}

function faultsOn(
  controlPlane: ControlPlane,
  proxy: Awaited<ReturnType<typeof startTcpProxy>>,
): Record<string, () => Promise<void>> {
  const restart = async () => {
    await controlPlane.apiServer.kill();
    await controlPlane.apiServer.start();
  };
  return {
    'every tenth connection reset': async () => {
      proxy.resetFraction = 0.1;
      for (let cut = 0; cut < 40; cut += 1) {
        proxy.cut();
        await sleep(250);
      }
      proxy.resetFraction = 0;
    },
    'API server killed': restart,
    'history compacted while away': async () => {
      proxy.open = false;
      proxy.cut();
      await sleep(2_000);
      await controlPlane.etcd.compact();
      await restart();
      proxy.open = true;
    },
    'etcd paused for 30 s': async () => {
      const [member] = controlPlane.etcd.members;
      member?.pause();
      try {
        await sleep(30_000);
      } finally {
        member?.resume();
      }
    },
    'certificate replaced': () => controlPlane.replaceServingCertificate(),
    'API server suspended': async () => {
      controlPlane.apiServer.pause();
      try {
        await sleep(15_000);
      } finally {
        controlPlane.apiServer.resume();
      }
    },
  };
}
