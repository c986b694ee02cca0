/**
 * Why a rule does not hold, in words that name the field and its value.
 *
 * In: a compiled expression that gave false, and the request. Out: a sentence of bounded length and the field it is about. What a
 * policy or a Secret keeps to itself is never in it.
 */
export { cut } from './describe.ts';
export { Inspector, inspection, NO_LOCALS } from './inspector.ts';
export { loopOf } from './loops.ts';
export { type Place, placeText, stepsText } from './place.ts';
export { HIDDEN, Sensitive } from './sensitive.ts';
export { type Why, whyFalse, whyMissing } from './why.ts';
