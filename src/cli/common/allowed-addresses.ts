/** The flag `--allow-address` of the commands that connect to addresses which users write into objects. */
import type { Command } from 'commander';
import { repeated } from './flags.ts';

export interface AllowedAddressFlags {
  allowAddress?: string[];
}

export const declareAllowedAddresses = (command: Command): Command =>
  command.option(
    '--allow-address <host:port>',
    'Allow connections to this loopback, link-local or cloud-metadata address that users name: HOST:PORT, CIDR:PORT or CIDR; may be repeated',
    repeated,
  );
