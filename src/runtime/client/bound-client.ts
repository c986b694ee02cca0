/** The same client, with the options of each request worked out anew: how a fence or a signal is put on all that someone does. */
import type { Client, RequestOptions } from './client.ts';

interface OptionRules {
  /** Called for each request right before it is made; what it throws, the request rejects with. */
  read?: <O extends RequestOptions>(options: O | undefined) => O | undefined;
  write?: <O extends RequestOptions>(options: O | undefined) => O | undefined;
}

/** Without what is optional in a `Client`: that is for reflectors, which have the client itself. */
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
    // The connections are whose client it is.
    close: async () => {},
  };
}

/** Everything that is asked through it ends with the signal. */
export function clientUntil(client: Client, signal: AbortSignal): Client {
  const withSignal = <O extends RequestOptions>(options: O | undefined): O => ({
    ...(options as O),
    signal: options?.signal === undefined ? signal : AbortSignal.any([options.signal, signal]),
  });
  return boundClient(client, { read: withSignal, write: withSignal });
}
