/** The function jsonpatch.escapeKey, which escapes a key as a segment of a JSON pointer. */
import { sizeOf, traversal } from '../../cost/size.ts';
import { fn, type Library, overload } from '../../declarations.ts';
import { STRING } from '../../types.ts';
import { estimate, scale, sizeOfNode } from '../estimate.ts';

export const jsonPatch: Library = {
  name: 'kubernetes.jsonpatch',
  functions: [
    fn('jsonpatch.escapeKey', [
      overload(
        'string_jsonpatch_escapeKey_string',
        [STRING],
        STRING,
        (key: string) => key.replaceAll('~', '~0').replaceAll('/', '~1'),
        {
          cost: ([key]) => traversal(sizeOf(key ?? null)),
          estimate: (_target, [key]) => estimate(scale(sizeOfNode(key), 0.1), sizeOfNode(key)),
        },
      ),
    ]),
  ],
};
