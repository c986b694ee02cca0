/** Builds a controller and adds it to a manager. */
import { ConfigError } from '../errors.ts';
import type { Manager } from '../manager/manager.ts';
import type { KubernetesObject, Resource } from '../objects/object.ts';
import type { IndexFunction } from '../reflector/store.ts';
import type { Selection } from './caches.ts';
import { Controller, type ControllerOptions, type WatchedSource } from './controller.ts';
import { type Mapper, toController, toItself } from './mappers.ts';
import type { Predicate } from './predicates.ts';
import type { Reconcile } from './reconcile.ts';

interface SourceOptions<T extends KubernetesObject> extends Selection {
  /** A change is ignored unless every predicate holds. */
  predicates?: readonly Predicate<T>[];
  indexes?: Readonly<Record<string, IndexFunction<T>>>;
}

/**
 * `controllerManagedBy` starts building a controller; `complete` adds it to the manager.
 *
 * @example
 * import { connect, controllerManagedBy, loadKubeconfig, Manager, stopSignal } from 'kidp/runtime';
 *
 * const configMaps = { group: '', version: 'v1', plural: 'configmaps', kind: 'ConfigMap', namespaced: true };
 * const manager = new Manager({ client: connect(loadKubeconfig()) });
 * controllerManagedBy(manager, 'example')
 *   .for(configMaps, { namespace: 'default' })
 *   .complete(async (request, { read }) => {
 *     const object = await read.get(configMaps, request);
 *     console.log(request.name, object === undefined ? 'is deleted' : 'exists');
 *   });
 * await manager.start(stopSignal());
 */
export function controllerManagedBy(manager: Manager, name: string): ControllerBuilder {
  return new ControllerBuilder(manager, name);
}

export class ControllerBuilder {
  readonly #manager: Manager;
  readonly #name: string;
  #primary: Resource | undefined;
  #owned: [Resource, SourceOptions<KubernetesObject>][] = [];
  readonly #sources: WatchedSource[] = [];
  #options: ControllerOptions = {};

  constructor(manager: Manager, name: string) {
    this.#manager = manager;
    this.#name = name;
  }

  /** Sets the reconciled resource: a change of an object enqueues its key. */
  for<T extends KubernetesObject>(resource: Resource, options: SourceOptions<T> = {}): this {
    this.#primary = resource;
    return this.watches<T>(resource, toItself, options);
  }

  /** Watches a resource that the controller creates: a change of an object enqueues its controlling owner. */
  owns<T extends KubernetesObject>(resource: Resource, options: SourceOptions<T> = {}): this {
    this.#owned.push([resource, options as unknown as SourceOptions<KubernetesObject>]);
    return this;
  }

  watches<T extends KubernetesObject>(resource: Resource, mapper: Mapper<T>, options: SourceOptions<T> = {}): this {
    const { predicates = [], indexes, ...selection } = options;
    this.#manager.caches.request<T>({ resource, ...selection, ...(indexes === undefined ? {} : { indexes }) });
    this.#sources.push({
      resource,
      selection,
      mapper: mapper as unknown as Mapper,
      predicates: predicates as unknown as readonly Predicate[],
    });
    return this;
  }

  withOptions(options: ControllerOptions): this {
    this.#options = { ...this.#options, ...options };
    return this;
  }

  /** Adds the controller to the manager, which starts it. */
  complete(reconcile: Reconcile): Controller {
    const primary = this.#primary;
    if (primary === undefined && (this.#owned.length > 0 || this.#sources.length === 0)) {
      throw new ConfigError({
        code: 'controller',
        message: `The controller ${this.#name} does not say what it reconciles`,
        hint: 'Call for(resource), or watches(resource, mapper)',
      });
    }
    if (primary !== undefined) {
      for (const [resource, options] of this.#owned.splice(0)) this.watches(resource, toController(primary), options);
    }
    const { caches, clock, log, metrics } = this.#manager;
    const controller = new Controller({
      name: this.#name,
      sources: this.#sources,
      reconcile,
      options: this.#options,
      caches,
      client: this.#options.everywhere === true ? this.#manager.client : this.#manager.leaderClient,
      clock,
      log: log.with({ controller: this.#name }),
      metrics,
    });
    this.#manager.add(controller);
    return controller;
  }
}
