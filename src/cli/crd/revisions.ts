/** Reads earlier revisions of definitions from a cluster: the CRDRevisions that the platform stores. */
import {
  type CrdRevision,
  crdRevision,
  GROUP,
  REVISION_LABEL,
  revisionLabelOf,
  unpackRevision,
  VERSION,
} from '../../api/index.ts';
import { type Client, isNotFound, type Resource } from '../../runtime/index.ts';
import { InputError } from '../common/failure.ts';
import { type Definitions, liveDefinition } from './definitions.ts';

const revisions: Resource = {
  group: GROUP,
  version: VERSION,
  plural: crdRevision.plural,
  kind: crdRevision.kind,
  namespaced: false,
};

/** `revisionsOf` lists the revisions of a definition, oldest first. */
export async function revisionsOf(client: Client, name: string): Promise<readonly CrdRevision[]> {
  const found: CrdRevision[] = [];
  let next: string | undefined;
  try {
    do {
      const page = await client.list<CrdRevision>(revisions, {
        labelSelector: `${REVISION_LABEL}=${revisionLabelOf(name)}`,
        limit: 50,
        ...(next === undefined ? {} : { continue: next }),
      });
      found.push(...page.items);
      next = page.metadata.continue;
    } while (next !== undefined && next !== '');
  } catch (error) {
    if (!isNotFound(error)) throw error;
    throw new InputError(
      'no-revisions',
      'this cluster has no CRDRevisions: install the platform there (kubectl apply -k manifests/install).',
    );
  }
  return found
    .filter(({ spec }) => spec.crd.name === name)
    .sort((one, other) => one.spec.sequence - other.spec.sequence);
}

/** `definitionAt` reads `revision:NAME@NUMBER`; without a number, the newest revision. */
export async function definitionAt(client: Client, word: string): Promise<Definitions> {
  const [, name, number] = /^revision:([^@]+?)(?:@([1-9][0-9]*))?$/.exec(word) ?? [];
  if (name === undefined) {
    throw new InputError(
      'option',
      `"${word}" is not a revision: want revision:NAME@NUMBER, as listed by kidp crd history.`,
    );
  }
  const all = await revisionsOf(client, name);
  const wanted = number === undefined ? all.at(-1) : all.find(({ spec }) => spec.sequence === Number(number));
  if (wanted === undefined) {
    const known = all.map(({ spec }) => spec.sequence).join(', ');
    const words = known === '' ? 'no revision of that name is stored' : `stored revisions are ${known}`;
    throw new InputError('no-such-revision', `there is no ${word}: ${words}.`);
  }
  return liveDefinition(unpackRevision(wanted), `revision:${name}@${wanted.spec.sequence}`);
}
