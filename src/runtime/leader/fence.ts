/**
 * A client whose writes take effect only while a fence is valid.
 *
 * The guarantee, over the transport of `connect` and a kube-apiserver that is reached without a proxy that buffers
 * requests: a write that was admitted by the fence takes effect before the fence ends (`renewDeadline` after the last
 * renewal was sent), or not at all. Three measures together ensure that:
 * 1. The fence is checked before anything is sent, with clocks that advance while the process is stopped.
 * 2. A write is sent in two steps (see `Fence` in client.ts): first the headers, with the remaining time as the
 *    `timeout` of the request; then, after the server has acknowledged them and the fence was checked again, the body.
 *    A process that is stopped before the second check sends no body. A process that is stopped after it sends a body
 *    that the server rejects, because the server has counted the timeout since it received the headers. Packets that
 *    the network delays are late in the same way.
 * 3. When the fence ends, writes in flight are aborted.
 *
 * Not covered: an etcd that stalls with the write in its queue and applies it when it resumes; a virtual machine that
 * is paused together with both its clocks; an aggregated API server that does not honour `timeout`; effects outside the
 * API server, whose callers must check `remainingMilliseconds` and pass on `term`. In these cases, write with a
 * resourceVersion or a uid, so that at least nothing newer is overwritten.
 */
import { boundClient } from '../client/bound-client.ts';
import type { Client, Fence, RequestOptions } from '../client/client.ts';
import { FenceError } from '../errors.ts';

/**
 * `fenced` returns a client whose reads pass unchanged and whose writes are rejected with a `FenceError` once the fence
 * has ended.
 */
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
