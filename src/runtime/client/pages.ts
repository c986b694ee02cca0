/** All objects of a resource that are there now, without holding them: given out one by one, page by page. */

import type { Resource, UnknownObject } from '../objects/object.ts';
import type { Client, ListEachOptions } from './client.ts';

interface EachObjectOptions extends Omit<ListEachOptions, 'continue' | 'limit'> {
  /**
   * Objects of the first page; the server has it in its cache, and it is read while it comes in where the client can do that, so it
   * may be a large one. Those after it come from etcd.
   */
  firstPage?: number;
  laterPages?: number;
  /** Between pages: where others must get their turn. */
  betweenPages?: () => Promise<void>;
}

/**
 * Rejects with what `isGone` knows where the snapshot that the pages are cut from was compacted away meanwhile: then some objects
 * have been given out, and the rest has to be asked for anew.
 */
export async function eachObject(
  client: Client,
  resource: Resource,
  options: EachObjectOptions,
  each: (object: UnknownObject) => void,
): Promise<{ objects: number }> {
  const { firstPage = 500, laterPages = 500, betweenPages, ...list } = options;
  let objects = 0;
  const counted = (object: UnknownObject) => {
    objects += 1;
    each(object);
  };
  for (let next: string | undefined; ; ) {
    const page = {
      ...list,
      limit: next === undefined ? firstPage : laterPages,
      ...(next === undefined ? {} : { continue: next }),
    };
    const answer =
      client.listEach === undefined
        ? await client.list(resource, page)
        : await client.listEach(resource, { omitManagedFields: true, ...page }, counted);
    for (const object of answer.items) counted(object);
    next = answer.metadata.continue;
    if (next === undefined || next === '') return { objects };
    await betweenPages?.();
  }
}
