/** The ip and cidr libraries of Kubernetes. */
import type { Library } from '../../declarations.ts';
import { cidrFunctions, ipFunctions } from '../net/functions.ts';
import { parseCIDR } from '../net/parse.ts';
import { CIDR_TYPE, IP_TYPE } from '../net/values.ts';

const PARSE_ERROR = 'network address parse error during conversion from string: ';

export const ip: Library = { name: 'kubernetes.net.ip', types: [IP_TYPE], functions: ipFunctions() };

export const cidr: Library = {
  name: 'kubernetes.net.cidr',
  types: [CIDR_TYPE],
  // Both the parser and its caller in Kubernetes report the error, so the text occurs twice.
  functions: cidrFunctions((text) => parseCIDR(text, { every: PARSE_ERROR, unreadable: () => PARSE_ERROR })),
};
