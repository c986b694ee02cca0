/**
 * Our own kinds, as objects, into models.
 *
 * In: a Policy or PolicyException as it came, of any shape. Out: its model, or what is wrong with it and where.
 * It must not know how a model is compiled or evaluated.
 */
export { readException } from './exception.ts';
export { readPolicy } from './policy.ts';
export { resourceTypeText } from './resource-types.ts';
