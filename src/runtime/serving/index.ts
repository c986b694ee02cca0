/**
 * What the HTTP servers of the house share: a bounded socket whose certificate turns while it runs, answers that say no, and an orderly
 * end. In: an app of fastify, which it does not load itself. Out: something that listens. It must not know what is served.
 */
export * from './app.ts';
export * from './listener.ts';
export * from './problem.ts';
