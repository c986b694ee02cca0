/** cel-go's network extension: ip and cidr of Kubernetes, `isMask`, and validation of literals at compile time. */

import type { CallValidator, Library } from '../../declarations.ts';
import { fn, member } from '../../declarations.ts';
import { BOOL } from '../../types.ts';
import { CelError } from '../../values.ts';
import { nominal } from '../estimate.ts';
import { quote } from '../go-text.ts';
import { cidrFunctions, ipFunctions } from '../net/functions.ts';
import { parseCIDR, parseIP } from '../net/parse.ts';
import { type CIDR, CIDR_TYPE, IP_TYPE } from '../net/values.ts';

const parse = (text: string): CIDR | CelError =>
  parseCIDR(text, {
    every: '',
    unreadable: (wrong) => `CIDR ${quote(wrong)} parse error during conversion from string: `,
  });

const literalValidator = (name: string, check: (text: string) => unknown): CallValidator => ({
  function: name,
  member: false,
  validate(call) {
    const literal = call.args[0];
    if (literal?.kind !== 'literal' || typeof literal.value !== 'string') return undefined;
    const result = check(literal.value);
    if (!(result instanceof CelError)) return undefined;
    return { node: literal, message: `invalid ${name} argument: ${result.message}` };
  },
});

export const network: Library = {
  name: 'cel.lib.ext.network',
  types: [IP_TYPE, CIDR_TYPE],
  validators: [literalValidator('ip', parseIP), literalValidator('cidr', parse)],
  functions: [
    ...ipFunctions(),
    ...cidrFunctions(parse),
    fn('isMask', [
      member('cidr_is_mask', [CIDR_TYPE], BOOL, (cidr: CIDR) => cidr.masked().equalsOrError(cidr) === true, {
        estimate: nominal,
      }),
    ]),
  ],
};
