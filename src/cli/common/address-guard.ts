/** The guard of outbound connections, from the flag `--allow-address`. */
import { type AddressGuard, addressGuard } from '../../runtime/internal.ts';
import type { AllowedAddressFlags } from './allowed-addresses.ts';
import { InputError } from './failure.ts';

/** `guardOf` returns the guard of connections that the flags describe. */
export function guardOf({ allowAddress = [] }: AllowedAddressFlags): AddressGuard {
  try {
    return addressGuard(allowAddress);
  } catch (error) {
    throw new InputError('allow-address', `--allow-address ${(error as RangeError).message}.`);
  }
}
