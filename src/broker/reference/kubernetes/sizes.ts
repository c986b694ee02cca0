/** Maps the size classes of the platform to storage, CPU and memory, and parses quantities of bytes. */

interface DatabaseSize {
  readonly storage: string;
  readonly cpu: string;
  readonly memory: string;
}

const databaseClasses: Readonly<Record<string, DatabaseSize>> = {
  small: { storage: '10Gi', cpu: '250m', memory: '512Mi' },
  medium: { storage: '50Gi', cpu: '1', memory: '2Gi' },
  large: { storage: '200Gi', cpu: '2', memory: '8Gi' },
  xlarge: { storage: '1Ti', cpu: '8', memory: '32Gi' },
};
const smallestDatabase = { storage: '10Gi', cpu: '250m', memory: '512Mi' };

/** `databaseSize` accepts a class, or an amount of storage: that gets the CPU and memory of the largest class with no more storage. */
export function databaseSize(size: string | undefined): DatabaseSize {
  const known = databaseClasses[size ?? 'small'];
  if (known !== undefined) return known;
  const storage = size ?? smallestDatabase.storage;
  const fitting = Object.values(databaseClasses).filter((each) => bytes(each.storage) <= bytes(storage));
  return { ...(fitting.at(-1) ?? smallestDatabase), storage };
}

const cacheClasses: Readonly<Record<string, string>> = {
  small: '256Mi',
  medium: '1Gi',
  large: '4Gi',
  xlarge: '16Gi',
};

/** `cacheBytes` returns the maximum number of bytes in a cache. */
export const cacheBytes = (size: string | undefined): number => bytes(cacheClasses[size ?? 'small'] ?? size ?? '256Mi');

const units: Readonly<Record<string, number>> = { Mi: 2 ** 20, Gi: 2 ** 30, Ti: 2 ** 40 };

/** `bytes` parses an amount such as `10Gi`. */
export function bytes(amount: string): number {
  const [, number = '0', unit = 'Mi'] = /^(\d+)(Mi|Gi|Ti)$/.exec(amount) ?? [];
  return Number(number) * (units[unit] ?? 0);
}

export const mebibytes = (amount: number): string => `${Math.ceil(amount / 2 ** 20)}Mi`;
