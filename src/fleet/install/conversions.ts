/**
 * Conversion webhooks of custom resources. Definitions only roll forward, so after a rollback an older side meets
 * versions that it does not know: their converter must not be removed, or stored objects could not be read.
 */
import type { Client } from '../../runtime/index.ts';
import { servedByDefinition } from '../../runtime/internal.ts';
import { FleetError, type Snapshot } from '../contract.ts';
import {
  areAlike,
  type Conversion,
  type Definition,
  definitionOf,
  definitionResource,
  fieldManager,
  injectionsOf,
  versionAnnotation,
} from './definitions.ts';

/**
 * The action for the conversion of one definition. `apply`: use the one of the snapshot. `none`: remove it. `leave`:
 * keep it. `hold`: it points to the side that is removed, the other side has none, and without one objects would lose
 * data.
 */
type ConversionAction = 'apply' | 'none' | 'leave' | 'hold';

export function conversionActionFor(
  live: Definition,
  wanted: Definition | undefined,
  { to, from }: { readonly to?: Pick<Snapshot, 'version' | 'namespace'>; readonly from?: string },
): ConversionAction {
  const declared = wanted?.spec.conversion?.strategy;
  if (declared === 'Webhook') return 'apply';
  if (live.spec.conversion?.strategy !== 'Webhook') return 'leave';
  // The version itself declares no conversion: breaking changes were approved before the rollout.
  if (declared === 'None' && live.metadata.annotations?.[versionAnnotation] === to?.version) return 'none';
  if (from === undefined || converterOf(live) !== from) return 'leave';
  if (areAlike(live)) return 'none';
  // If the versions differ and the chart declares no conversion, its controllers configure it at runtime.
  const isItsOwn = wanted !== undefined && declared === undefined && !areAlike(wanted);
  return isItsOwn || from === to?.namespace ? 'leave' : 'hold';
}

/** The namespace of the conversion Service; undefined without one, or for an external URL. */
const converterOf = ({ spec }: Definition): string | undefined =>
  spec.conversion?.strategy === 'Webhook' ? spec.conversion.webhook?.clientConfig?.service?.namespace : undefined;

/** Whether the side uses another version than the storage version. */
export function needsConversion(live: Definition, wanted: Definition | undefined): boolean {
  const stored = [
    ...(live.status?.storedVersions ?? []),
    ...(live.spec.versions ?? []).filter(({ storage }) => storage === true).map(({ name }) => name),
  ];
  const read = (wanted?.spec.versions ?? []).filter(({ served }) => served === true);
  return read.some(({ name }) => stored.some((version) => version !== name));
}

interface ConversionSides {
  /** The side that is being replaced. */
  readonly from: Snapshot | undefined;
  /** Undefined if no side remains. */
  readonly to: Snapshot | undefined;
}

interface Look {
  readonly name: string;
  readonly live: Definition;
  readonly wanted: Definition | undefined;
  readonly action: ConversionAction;
}

async function look(client: Client, { from, to }: ConversionSides): Promise<readonly Look[]> {
  const definitionsIn = (snapshot: Snapshot | undefined) => (snapshot?.definitions ?? []) as readonly Definition[];
  const all = [...definitionsIn(to), ...definitionsIn(from)].map(({ metadata }) => metadata.name);
  const looks: Look[] = [];
  for (const name of new Set(all)) {
    const live = await definitionOf(client, name);
    if (live === undefined) continue;
    const wanted = definitionsIn(to).find(({ metadata }) => metadata.name === name);
    const sides = { ...(to === undefined ? {} : { to }), ...(from === undefined ? {} : { from: from.namespace }) };
    looks.push({ name, live, wanted, action: conversionActionFor(live, wanted, sides) });
  }
  return looks;
}

/** `requireConversions` throws before any change if the new side could not read the stored objects. */
export async function requireConversions(
  client: Client,
  sides: ConversionSides & { readonly coexist: boolean },
): Promise<void> {
  if (sides.coexist) return;
  const held = (await look(client, sides)).filter(({ action }) => action === 'hold');
  const missing = held.find(({ live, wanted }) => needsConversion(live, wanted));
  if (missing === undefined) return;
  const [old, now] = [sides.from?.version, sides.to?.version];
  throw new FleetError(
    'helm/failed',
    `nothing was switched: objects of ${missing.name} are stored in a version that ${now} does not know, and only ${old} converts them, which cannot run beside it. Roll out another version, or give the definition a conversion that works with ${now}`,
  );
}

/** A definition whose conversion still points to the replaced side. */
export interface Left {
  readonly name: string;
  /** The other side could not read stored objects without it. */
  readonly isNeeded: boolean;
}

/**
 * `switchConversions` points conversions to this side; with `shared`, only those that pointed to the other one. Returns
 * the definitions that still point to the other side.
 */
export async function switchConversions(
  client: Client,
  sides: ConversionSides,
  { shared = false }: { readonly shared?: boolean } = {},
): Promise<readonly Left[]> {
  const left: Left[] = [];
  const away = sides.from?.namespace === sides.to?.namespace ? undefined : sides.from?.namespace;
  for (const { name, live, wanted, action } of await look(client, sides)) {
    const isLed = away !== undefined && converterOf(live) === away;
    if (action === 'leave' || action === 'hold') {
      if (isLed) left.push({ name, isNeeded: needsConversion(live, wanted) });
      continue;
    }
    if (shared && !isLed) continue;
    const gone = Object.fromEntries(Object.keys(injectionsOf(live)).map((each) => [each, null]));
    const annotations = { ...gone, ...(wanted === undefined ? {} : injectionsOf(wanted)) };
    const conversion =
      action === 'none' ? { strategy: 'None', webhook: null } : whole(wanted?.spec.conversion ?? { strategy: 'None' });
    const body = { metadata: { annotations }, spec: { conversion } };
    await client.patch(definitionResource, { name }, { type: 'merge', body }, { fieldManager });
  }
  return left;
}

/** Replaces the whole conversion, except for an injected CA bundle. */
function whole({ webhook, ...rest }: Conversion): object {
  const { service, ...client } = webhook?.clientConfig ?? {};
  const at = service === undefined ? { service: null } : { service: { path: null, port: null, ...service } };
  return { ...rest, webhook: { ...webhook, clientConfig: { url: null, ...client, ...at } } };
}

/**
 * `conversionsThrough` lists the definitions whose conversion still points to a side before it is removed. If no side
 * remains, a definition without objects needs no conversion.
 */
export async function conversionsThrough(client: Client, sides: ConversionSides): Promise<readonly Left[]> {
  const left = await switchConversions(client, sides);
  if (sides.to !== undefined) return left;
  const held: Left[] = [];
  for (const each of left) if (await hasObjects(client, each.name)) held.push(each);
  return held;
}

/** Lists in the storage version, which needs no conversion. On errors, objects are assumed. */
async function hasObjects(client: Client, name: string): Promise<boolean> {
  const live = await definitionOf(client, name);
  const storage = live?.spec.versions?.find((version) => version.storage === true);
  const resource = live && servedByDefinition(live).find(({ version }) => version === storage?.name);
  if (resource === undefined) return true;
  return client.list(resource, { limit: 1 }).then(
    ({ items }) => items.length > 0,
    () => true,
  );
}
