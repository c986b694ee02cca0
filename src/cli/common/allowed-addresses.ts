/** The flag `--allow-address` of the commands that connect to addresses which users write into objects. */
import type { Command } from 'commander';
import { type AddressGuard, addressGuard } from '../../runtime/internal.ts';
import { InputError } from './failure.ts';
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

/** `guardOf` returns the guard of connections that the flags describe. */
export function guardOf({ allowAddress = [] }: AllowedAddressFlags): AddressGuard {
  try {
    return addressGuard(allowAddress);
  } catch (error) {
    throw new InputError('allow-address', `--allow-address ${(error as RangeError).message}.`);
  }
}
