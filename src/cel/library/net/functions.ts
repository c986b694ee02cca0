/** The functions on net.IP and net.CIDR, with costs, shared by Kubernetes and cel-go's network extension. */
import { sizeOf, traversal } from '../../cost/size.ts';
import {
  type FunctionDeclaration,
  fn,
  member,
  overload,
  type Range,
  type RuntimeCost,
  type StaticCost,
} from '../../declarations.ts';
import { BOOL, INT, STRING } from '../../types.ts';
import { CelError, type Value } from '../../values.ts';
import { add, estimate, nominal, ONE, range, scale, sizeOfNode, textPass } from '../estimate.ts';
import { parseIP } from './parse.ts';
import { CIDR, CIDR_TYPE, IP, IP_TYPE } from './values.ts';

type ParseCIDR = (text: string) => CIDR | CelError;

const nominalCost = { estimate: nominal };

export function ipFunctions(): readonly FunctionDeclaration[] {
  const question = (name: string, id: string, answer: (ip: IP) => Value): FunctionDeclaration =>
    fn(name, [member(id, [IP_TYPE], name === 'family' ? INT : BOOL, answer, nominalCost)]);
  return [
    fn('ip', [overload('string_to_ip', [STRING], IP_TYPE, parseIP, textPass)]),
    fn('isIP', [overload('is_ip', [STRING], BOOL, (text: string) => parseIP(text) instanceof IP, textPass)]),
    fn('ip.isCanonical', [
      overload(
        'ip_is_canonical',
        [STRING],
        BOOL,
        (text: string) => {
          const parsed = parseIP(text);
          return parsed instanceof CelError ? parsed : parsed.toString() === text;
        },
        {
          cost: ([text]) => traversal(sizeOf(text ?? null), 2),
          estimate: (_target, [text]) => estimate(scale(sizeOfNode(text), 2 * 0.1)),
        },
      ),
    ]),
    question('family', 'ip_family', (ip) => ip.family),
    question('isUnspecified', 'ip_is_unspecified', (ip) => ip.isUnspecified),
    question('isLoopback', 'ip_is_loopback', (ip) => ip.isLoopback),
    question('isLinkLocalMulticast', 'ip_is_link_local_multicast', (ip) => ip.isLinkLocalMulticast),
    question('isLinkLocalUnicast', 'ip_is_link_local_unicast', (ip) => ip.isLinkLocalUnicast),
    question('isGlobalUnicast', 'ip_is_global_unicast', (ip) => ip.isGlobalUnicast),
    fn('string', [overload('ip_to_string', [IP_TYPE], STRING, String)]),
  ];
}

export function cidrFunctions(parse: ParseCIDR): readonly FunctionDeclaration[] {
  return [
    fn('cidr', [overload('string_to_cidr', [STRING], CIDR_TYPE, parse, textPass)]),
    fn('isCIDR', [overload('is_cidr', [STRING], BOOL, (text: string) => parse(text) instanceof CIDR, textPass)]),
    fn('containsIP', [
      member(
        'cidr_contains_ip_string',
        [CIDR_TYPE, STRING],
        BOOL,
        (cidr: CIDR, text: string) => {
          const ip = parseIP(text);
          return ip instanceof CelError ? ip : cidr.containsIP(ip);
        },
        parsedArgument(ipCost, IP_ESTIMATE),
      ),
      member('cidr_contains_ip_ip', [CIDR_TYPE, IP_TYPE], BOOL, (cidr: CIDR, ip: IP) => cidr.containsIP(ip), {
        cost: ipCost,
        estimate: () => estimate(IP_ESTIMATE),
      }),
    ]),
    fn('containsCIDR', [
      member(
        'cidr_contains_cidr_string',
        [CIDR_TYPE, STRING],
        BOOL,
        (cidr: CIDR, text: string) => {
          const other = parse(text);
          return other instanceof CelError ? other : cidr.containsCIDR(other);
        },
        parsedArgument(cidrCost, CIDR_ESTIMATE),
      ),
      member(
        'cidr_contains_cidr',
        [CIDR_TYPE, CIDR_TYPE],
        BOOL,
        (cidr: CIDR, other: CIDR) => cidr.containsCIDR(other),
        { cost: cidrCost, estimate: () => estimate(CIDR_ESTIMATE) },
      ),
    ]),
    fn('ip', [member('cidr_ip', [CIDR_TYPE], IP_TYPE, (cidr: CIDR) => cidr.ip, nominalCost)]),
    fn('prefixLength', [member('cidr_prefix_length', [CIDR_TYPE], INT, (cidr: CIDR) => cidr.bits, nominalCost)]),
    fn('masked', [member('cidr_masked', [CIDR_TYPE], CIDR_TYPE, (cidr: CIDR) => cidr.masked(), nominalCost)]),
    fn('string', [overload('cidr_to_string', [CIDR_TYPE], STRING, String)]),
  ];
}

/** The cost of comparing two byte strings of the length of the prefix. */
const ipCost: RuntimeCost = ([cidr]) => traversal(sizeOf(cidr ?? null), 2);
/** Like `ipCost`, plus masking one of them and comparing the lengths. */
const cidrCost: RuntimeCost = ([cidr]) => traversal(sizeOf(cidr ?? null), 2) + traversal(sizeOf(cidr ?? null)) + 1;

const ADDRESS: Range = range(4, 16);
const IP_ESTIMATE = scale(add(ADDRESS, ADDRESS), 0.1);
const CIDR_ESTIMATE = add(IP_ESTIMATE, scale(ADDRESS, 0.1), ONE);

/** Adds the cost of parsing a string argument, but only if type checking selected the string overload. */
function parsedArgument(
  base: RuntimeCost,
  baseEstimate: Range,
): { cost: RuntimeCost; soleCost: RuntimeCost; estimate: StaticCost } {
  return {
    cost: base,
    soleCost: (args, result) => base(args, result) + traversal(sizeOf(args[1] ?? null)),
    estimate: (_target, [text]) => estimate(add(baseEstimate, scale(sizeOfNode(text), 0.1))),
  };
}
