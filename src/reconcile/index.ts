/**
 * The controllers: what the platform does by itself, a folder a family.
 *
 * In: a manager to run in, and what the rooms below know. Out: objects brought to what they say, and their status. It must not
 * know how requests are answered: admission decides, reconcilers act.
 */
export * from './bindings/index.ts';
export * from './costs/index.ts';
export * from './crds/index.ts';
export * from './deployable/index.ts';
export * from './operators/index.ts';
export * from './platform/index.ts';
export * from './policies/index.ts';
