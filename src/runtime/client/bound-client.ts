/** A client that derives the options of each request from rules: it puts a fence or a signal on every request. */
import type { Client, RequestOptions } from './client.ts';

interface OptionRules {
  /** Called right before each request; if it throws, the request rejects with that error. */
  read?: <O extends RequestOptions>(options: O | undefined) => O | undefined;
  write?: <O extends RequestOptions>(options: O | undefined) => O | undefined;
}

/** `boundClient` leaves out the optional methods of a `Client`: only reflectors need them, and they use the client itself. */
export function boundClient(client: Client, rules: OptionRules): Client {
  const read = rules.read ?? ((options) => options);
  const write = rules.write ?? ((options) => options);
  return {
    get: async (resource, key, options) => client.get(resource, key, read(options)),
    list: async (resource, options) => client.list(resource, read(options)),
    watch: (resource, options) => client.watch(resource, read(options)),
    create: async (resource, object, options) => client.create(resource, object, write(options)),
    update: async (resource, object, options) => client.update(resource, object, write(options)),
    patch: async (resource, key, patch, options) => client.patch(resource, key, patch, write(options)),
    apply: async (resource, object, options) => client.apply(resource, object, write(options) ?? options),
    delete: async (resource, key, options) => client.delete(resource, key, write(options)),
    request: async (request) => client.request((request.method === 'GET' ? read(request) : write(request)) ?? request),
    impersonate: (identity) => boundClient(client.impersonate(identity), rules),
    // The connections belong to the original client.
    close: async () => {},
  };
}

/** `clientUntil` returns a client whose requests end with the signal. */
export function clientUntil(client: Client, signal: AbortSignal): Client {
  const withSignal = <O extends RequestOptions>(options: O | undefined): O => ({
    ...(options as O),
    signal: options?.signal === undefined ? signal : AbortSignal.any([options.signal, signal]),
  });
  return boundClient(client, { read: withSignal, write: withSignal });
}
