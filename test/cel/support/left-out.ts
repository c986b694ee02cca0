/** Tests of the cel-spec over JSON that are excluded for an environment, with the reason. */
import type { EnvironmentName } from '../../../src/cel/index.ts';

export interface LeftOut {
  readonly environment: EnvironmentName;
  /** The test as `file/section/name`, or a prefix of it that ends in `/`. */
  readonly test: string;
  readonly reason: string;
}

/**
 * Tests that the real environment of Kubernetes does not pass are excluded from `kubernetes-1.36` automatically; see
 * conformance.test.ts.
 */
export const leftOut: readonly LeftOut[] = [
  {
    environment: 'extended',
    test: 'proto2/has/required',
    reason: 'makes a protocol-buffer message, TestRequired: no message is over JSON',
  },
  {
    environment: 'extended',
    test: 'network_ext/ipv4/ipv4_equals_ipv6',
    reason: 'cel-go 0.33.2 and Kubernetes refuse IPv4-mapped IPv6 addresses, as other tests of the file want',
  },
  {
    environment: 'extended',
    test: 'network_ext/ipv4/ipv4_not_equals_ipv6',
    reason: 'cel-go 0.33.2 and Kubernetes refuse IPv4-mapped IPv6 addresses, as other tests of the file want',
  },
  {
    environment: 'extended',
    test: 'string_ext/value_errors/indexof_out_of_range',
    reason: 'cel-go 0.33.2 and Kubernetes answer -1: an offset past the end finds nothing',
  },
  {
    environment: 'extended',
    test: 'string_ext/value_errors/lastindexof_out_of_range',
    reason: 'cel-go 0.33.2 and Kubernetes answer -1: an offset past the end finds nothing',
  },
];
