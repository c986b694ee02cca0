/**
 * Watches etcd, which has no faults: every write to the objects of the platform, to the records of the broker and to its deployments, in
 * the order of their revisions. The witness only records; it does not judge.
 */
import { readFile } from 'node:fs/promises';
import type { ClientRequest } from 'node:http';
import { request } from 'node:https';
import { createInterface } from 'node:readline';
import type { DeploymentRecord } from '../../../src/broker/index.ts';
import type { Etcd } from '../../../src/controlplane/index.ts';
import type { Deployable } from '../../../src/reconcile/index.ts';
import { NAMESPACE, THINGS_NAMESPACE } from './stage.ts';

/** The removal of an object, and the state at that moment. */
export interface Departure {
  readonly uid: string;
  readonly subject: string;
  readonly revision: number;
  /** When the witness saw it, slightly after the removal: milliseconds since 1970. */
  readonly at: number;
  readonly deploymentId: string | undefined;
  /** The keys of its deployment that still existed. */
  readonly left: readonly string[];
  /** The state of its broker's record, if that is in the cluster. */
  readonly recordState: DeploymentRecord['state'] | undefined;
}

export interface Witness {
  /** The deployments in the status of each object, by uid, in order. */
  readonly intents: ReadonlyMap<string, readonly string[]>;
  readonly departures: readonly Departure[];
  /** Every state of the records of the broker in the cluster. */
  readonly records: readonly DeploymentRecord[];
  /** The deployments that the target of each object was written for, by uid, in order. */
  readonly executions: ReadonlyMap<string, readonly string[]>;
  /** Why it missed events; undefined if it has seen all. */
  readonly failure: string | undefined;
  revision(): number;
  stop(): void;
}

interface WatchAnswer {
  readonly result?: {
    readonly header?: { readonly revision?: string };
    readonly canceled?: boolean;
    readonly events?: readonly { readonly type?: 'DELETE'; readonly kv: KeyValue }[];
  };
  readonly error?: { readonly message?: string };
}

interface KeyValue {
  readonly key: string;
  readonly value?: string;
  readonly mod_revision: string;
}

const prefix = '/registry/';

export async function startWitness(etcd: Etcd): Promise<Witness> {
  const intents = new Map<string, string[]>();
  const executions = new Map<string, string[]>();
  const departures: Departure[] = [];
  const records: DeploymentRecord[] = [];
  const objects = new Map<string, Deployable>();
  const things = new Map<string, string>();
  const states = new Map<string, DeploymentRecord['state']>();
  let revision = 0;
  let failure: string | undefined;
  let stopped = false;

  function seeObject(key: string, value: Buffer | undefined, at: number): void {
    const before = objects.get(key);
    const object = value === undefined ? undefined : (JSON.parse(value.toString('utf8')) as Deployable);
    if (before !== undefined && before.metadata.uid !== object?.metadata.uid) leave(key, before, at);
    if (object === undefined) {
      objects.delete(key);
      return;
    }
    objects.set(key, object);
    const { deploymentId } = object.status ?? {};
    if (deploymentId !== undefined) append(intents, object.metadata.uid ?? '', deploymentId);
  }

  function leave(key: string, { metadata, kind, status }: Deployable, at: number): void {
    const uid = metadata.uid ?? '';
    objects.delete(key);
    departures.push({
      uid,
      subject: `${kind} ${metadata.name}`,
      revision: at,
      at: Date.now(),
      deploymentId: status?.deploymentId,
      left: [...things].filter(([, owner]) => owner === uid).map(([each]) => each),
      recordState: states.get(uid),
    });
  }

  /** Secrets are stored as protobuf: the id is matched in the raw bytes. */
  function seeThing(key: string, value: Buffer | undefined): void {
    if (value === undefined) {
      things.delete(key);
      return;
    }
    const [, deploymentId] = /deployment-id..([0-9a-f-]{36}\/\d+\/\d+)/s.exec(value.toString('latin1')) ?? [];
    const uid = deploymentId?.split('/')[0];
    if (deploymentId === undefined || uid === undefined) return;
    things.set(key, uid);
    append(executions, uid, deploymentId);
  }

  function seeRecord(value: Buffer | undefined): void {
    const text = value?.toString('utf8') ?? '';
    const from = text.indexOf('{"version":1,"uid":');
    if (from < 0) return;
    const record = JSON.parse(wholeObject(text.slice(from))) as DeploymentRecord;
    records.push(record);
    states.set(record.uid, record.state);
  }

  function see({ key: encoded, value: content, mod_revision }: KeyValue): void {
    const key = Buffer.from(encoded, 'base64').toString('utf8').slice(prefix.length);
    const value = content === undefined ? undefined : Buffer.from(content, 'base64');
    if (/^platform\.company\.com\/(secrets|topics)\//.test(key) && key.includes(`/${NAMESPACE}/`)) {
      seeObject(key, value, Number(mod_revision));
    } else if (key.startsWith(`secrets/${THINGS_NAMESPACE}/`)) seeThing(key, value);
    else if (key.startsWith('configmaps/kidp-brokers/')) seeRecord(value);
  }

  const end = await watch(etcd, (line) => {
    const { result, error } = JSON.parse(line) as WatchAnswer;
    if (error !== undefined || result?.canceled === true) failure ??= `etcd ended the watch: ${line.slice(0, 300)}`;
    for (const event of result?.events ?? []) {
      see({ ...event.kv, ...(event.type === 'DELETE' ? { value: undefined as never } : {}) });
    }
    revision = Math.max(revision, Number(result?.header?.revision ?? 0));
  });
  end.once('close', () => {
    if (!stopped) failure ??= 'the etcd watch was closed';
  });
  return {
    intents,
    departures,
    records,
    executions,
    get failure() {
      return failure;
    },
    revision: () => revision,
    stop() {
      stopped = true;
      end.destroy();
    },
  };
}

/** `append` skips repeated values. */
function append(map: Map<string, string[]>, uid: string, value: string): void {
  const list = map.get(uid) ?? [];
  if (list.at(-1) !== value) list.push(value);
  map.set(uid, list);
}

/** `wholeObject` cuts the text after the brace that closes the first one. */
function wholeObject(text: string): string {
  let depth = 0;
  let quoted = false;
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at];
    if (quoted) {
      if (character === '\\') at += 1;
      else if (character === '"') quoted = false;
    } else if (character === '"') quoted = true;
    else if (character === '{') depth += 1;
    else if (character === '}') {
      depth -= 1;
      if (depth === 0) return text.slice(0, at + 1);
    }
  }
  throw new Error(`unterminated record: ${text.slice(0, 200)}`);
}

/** `watch` uses the JSON gateway of etcd. Resolves once the watch has started. */
async function watch({ endpoints, clientFiles }: Etcd, line: (text: string) => void): Promise<ClientRequest> {
  const [ca, cert, key] = await Promise.all(
    [clientFiles.authority, clientFiles.certificate, clientFiles.key].map((file) => readFile(file)),
  );
  const encoded = (text: string) => Buffer.from(text).toString('base64');
  const range = { key: encoded(prefix), range_end: encoded('/registry0') };
  return new Promise((resolve, reject) => {
    const sent = request(`${endpoints[0]}/v3/watch`, { method: 'POST', ca, cert, key, agent: false }, (response) => {
      let started = false;
      const lines = createInterface({ input: response });
      lines.on('line', (text) => {
        line(text);
        if (!started) resolve(sent);
        started = true;
      });
      // The caller sees the end of the request.
      lines.on('error', () => {});
    });
    sent.on('error', reject);
    sent.write(JSON.stringify({ create_request: range }));
    sent.end();
  });
}
