/** `eachObject` lists all objects of a resource page by page and passes them on one by one, without keeping them. */

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
 * `eachObject` calls `each` for every object of a resource. It rejects with an error that `isGone` recognizes if the snapshot behind
 * the pages was compacted meanwhile: then `each` was called for some objects, and the list has to be repeated.
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
