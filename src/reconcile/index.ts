/**
 * Background controllers, one folder per family.
 *
 * In: a manager to run in, and the modules below. Out: reconciled objects and their status. It must not know how
 * admission requests are answered: admission decides, reconcilers act.
 */
export * from './bindings/index.ts';
export * from './costs/index.ts';
export * from './crds/index.ts';
export * from './deployable/index.ts';
export * from './operators/index.ts';
export * from './platform/index.ts';
export * from './policies/index.ts';
