/**
 * Who converts custom resources from one version to another. Definitions only roll forward, so that on the way back an older side finds
 * versions that it does not know: who converts these must not go, or nobody could read what is stored.
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
 * What becomes of the conversion of one definition. `hold`: it leads to the side that goes away, the other has none, and without one
 * objects would lose what only one of the versions has.
 */
type ConversionAction = 'apply' | 'none' | 'leave' | 'hold';

export function conversionActionFor(
  live: Definition,
  wanted: Definition | undefined,
  { to, from }: { readonly to?: Pick<Snapshot, 'version' | 'namespace'>; readonly from?: string },
): ConversionAction {
  const told = wanted?.spec.conversion?.strategy;
  if (told === 'Webhook') return 'apply';
  if (live.spec.conversion?.strategy !== 'Webhook') return 'leave';
  // As this very version brings it: what it breaks was approved before it came here.
  if (told === 'None' && live.metadata.annotations?.[versionAnnotation] === to?.version) return 'none';
  if (from === undefined || converterOf(live) !== from) return 'leave';
  if (areAlike(live)) return 'none';
  // With versions that differ and not a word about it, its controllers say themselves who converts, once they run.
  const isItsOwn = wanted !== undefined && told === undefined && !areAlike(wanted);
  return isItsOwn || from === to?.namespace ? 'leave' : 'hold';
}

/** The namespace of the Service that is asked; undefined where nobody is, or somebody elsewhere. */
const converterOf = ({ spec }: Definition): string | undefined =>
  spec.conversion?.strategy === 'Webhook' ? spec.conversion.webhook?.clientConfig?.service?.namespace : undefined;

/** It reads or writes another version than objects are stored in. */
export function needsConversion(live: Definition, wanted: Definition | undefined): boolean {
  const stored = [
    ...(live.status?.storedVersions ?? []),
    ...(live.spec.versions ?? []).filter(({ storage }) => storage === true).map(({ name }) => name),
  ];
  const read = (wanted?.spec.versions ?? []).filter(({ served }) => served === true);
  return read.some(({ name }) => stored.some((version) => version !== name));
}

interface ConversionSides {
  /** The side that goes away. */
  readonly from: Snapshot | undefined;
  /** Undefined where nobody is left. */
  readonly to: Snapshot | undefined;
}

interface Look {
  readonly name: string;
  readonly live: Definition;
  readonly wanted: Definition | undefined;
  readonly course: ConversionAction;
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
    looks.push({ name, live, wanted, course: conversionActionFor(live, wanted, sides) });
  }
  return looks;
}

/** Before anything is changed: throws where the side that is to take over could not read what is stored. */
export async function requireConversions(
  client: Client,
  sides: ConversionSides & { readonly coexist: boolean },
): Promise<void> {
  if (sides.coexist) return;
  const held = (await look(client, sides)).filter(({ course }) => course === 'hold');
  const missing = held.find(({ live, wanted }) => needsConversion(live, wanted));
  if (missing === undefined) return;
  const [old, now] = [sides.from?.version, sides.to?.version];
  throw new FleetError(
    'helm/failed',
    `nothing was switched: objects of ${missing.name} are stored in a version that ${now} does not know, and only ${old} converts them, which cannot run beside it. Roll another version out, or give the definition a conversion that ${now} can live with`,
  );
}

/** A definition that still leads to the side that goes away. */
export interface Left {
  readonly name: string;
  /** The other side could not read what is stored. */
  readonly isNeeded: boolean;
}

/**
 * From now on this side is asked; with `shared`, only by those that asked the other one until now. Says which definitions still lead to the
 * other one.
 */
export async function switchConversions(
  client: Client,
  sides: ConversionSides,
  { shared = false }: { readonly shared?: boolean } = {},
): Promise<readonly Left[]> {
  const left: Left[] = [];
  const away = sides.from?.namespace === sides.to?.namespace ? undefined : sides.from?.namespace;
  for (const { name, live, wanted, course } of await look(client, sides)) {
    const isLed = away !== undefined && converterOf(live) === away;
    if (course === 'leave' || course === 'hold') {
      if (isLed) left.push({ name, isNeeded: needsConversion(live, wanted) });
      continue;
    }
    if (shared && !isLed) continue;
    const gone = Object.fromEntries(Object.keys(injectionsOf(live)).map((each) => [each, null]));
    const annotations = { ...gone, ...(wanted === undefined ? {} : injectionsOf(wanted)) };
    const conversion =
      course === 'none' ? { strategy: 'None', webhook: null } : whole(wanted?.spec.conversion ?? { strategy: 'None' });
    const body = { metadata: { annotations }, spec: { conversion } };
    await client.patch(definitionResource, { name }, { type: 'merge', body }, { fieldManager });
  }
  return left;
}

/** Nothing is left of what was there, but for the authority: where the chart says none, somebody else has put it in. */
function whole({ webhook, ...rest }: Conversion): object {
  const { service, ...client } = webhook?.clientConfig ?? {};
  const at = service === undefined ? { service: null } : { service: { path: null, port: null, ...service } };
  return { ...rest, webhook: { ...webhook, clientConfig: { url: null, ...client, ...at } } };
}

/**
 * Before a side goes: the definitions whose conversion still leads to it. Where nobody is left, one that has no objects has nothing to
 * convert, and who writes one is told.
 */
export async function conversionsThrough(client: Client, sides: ConversionSides): Promise<readonly Left[]> {
  const left = await switchConversions(client, sides);
  if (sides.to !== undefined) return left;
  const held: Left[] = [];
  for (const each of left) if (await hasObjects(client, each.name)) held.push(each);
  return held;
}

/** Asked in the version that they are stored in, which takes no conversion. What cannot be told may be. */
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
