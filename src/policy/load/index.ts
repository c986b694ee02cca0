/**
 * Reads objects of the platform's kinds into models.
 *
 * Input: a Policy or PolicyException of any shape. Output: its model, or its issues with their fields. It does not know
 * how a model is compiled or evaluated.
 */
export { readException } from './exception.ts';
export { readPolicy } from './policy.ts';
export { resourceTypeText } from './resource-types.ts';
