/**
 * A client whose writes happen only while a fence stands.
 *
 * What is guaranteed, over `connect`'s transport and a kube-apiserver it reaches without a proxy that buffers requests:
 * a write that was let through takes effect before the fence ends (`renewDeadline` after the last renewal was sent), or not at
 * all. Three things together give that:
 *  1. the fence is asked before anything is sent, with clocks that go on while the process is stopped;
 *  2. a write goes out in two steps (see `Fence` in client.ts): headers, with the time that remains as the request's
 *     `timeout`, and only after the server has acknowledged them and the fence was asked again, the body. A process that
 *     is stopped before the second check sends no body; one that is stopped after it sends a body that the server no longer
 *     takes, for the server's own clock has counted the timeout since the headers came. Packets that a network held back
 *     are late in the same way;
 *  3. when the fence falls, writes that are under way are aborted.
 *
 * Not covered: an etcd that stalled with the write in its queue, and orders it when it resumes; a
 * virtual machine that is paused with both its clocks (they go on as if no time had passed); an
 * aggregated API server that does not honour `timeout`; effects outside the API server, whose callers ask
 * `remainingMilliseconds` themselves and pass `term` along. Against these, write with a resourceVersion or a uid: then at
 * least nothing newer is overwritten.
 */
import { boundClient } from '../client/bound-client.ts';
import type { Client, Fence, RequestOptions } from '../client/client.ts';
import { FenceError } from '../errors.ts';

/** Reads pass; writes are refused with a `FenceError` once the fence has fallen. */
export function fenced(client: Client, fence: Fence): Client {
  return boundClient(client, {
    write: <O extends RequestOptions>(options: O | undefined): O => {
      const remaining = fence.remainingMilliseconds();
      if (remaining <= 0) throw fenceErrorOf(fence);
      return {
        ...(options as O),
        fence,
        signal: options?.signal === undefined ? fence.signal : AbortSignal.any([options.signal, fence.signal]),
        timeoutMilliseconds: Math.ceil(Math.min(options?.timeoutMilliseconds ?? Number.POSITIVE_INFINITY, remaining)),
      };
    },
  });
}

function fenceErrorOf(fence: Fence): FenceError {
  return fence.signal.reason instanceof FenceError ? fence.signal.reason : new FenceError('the lease is not held');
}
