/** The semver library of Kubernetes at version 1, which supports normalization. */
import { fn, type Library, member, overload } from '../../declarations.ts';
import { BOOL, INT, object, STRING } from '../../types.ts';
import { type CelError, int, invalidArgument, noSuchOverload, TypeValue, type Value } from '../../values.ts';
import { nominal, textPass } from '../estimate.ts';
import { ComparedValue } from '../opaque.ts';
import {
  compareVersions,
  formatVersion,
  normalizeVersion,
  parseVersion,
  SHORT_WITH_METADATA,
  type Version,
} from './semver-text.ts';

const NAME = 'kubernetes.Semver';
const RUNTIME_TYPE = new TypeValue(NAME);

const SEMVER = object(NAME);

export class Semver extends ComparedValue {
  override readonly type = RUNTIME_TYPE;
  readonly version: Version;

  constructor(version: Version) {
    super();
    this.version = version;
  }

  override equalsOrError(other: Value): boolean | CelError {
    return other instanceof Semver ? compareVersions(this.version, other.version) === 0 : noSuchOverload();
  }

  override toString(): string {
    return formatVersion(this.version);
  }
}

function read(text: string, normalize: boolean): Version | string {
  if (!normalize) return parseVersion(text);
  const normal = normalizeVersion(text);
  return normal === undefined ? SHORT_WITH_METADATA : parseVersion(normal);
}

function semver(text: string, normalize: boolean): Semver | CelError {
  const version = read(text, normalize);
  return typeof version === 'string' ? invalidArgument(version) : new Semver(version);
}

const isSemver = (text: string, normalize: boolean): boolean => typeof read(text, normalize) !== 'string';

const one = { estimate: nominal };

/** Kubernetes converts the uint64 to an int64, so a number from 2^63 on becomes negative. */
const number = (of: (version: Version) => bigint) => (value: Semver) => int(BigInt.asIntN(64, of(value.version)));

const compared = (test: (order: number) => boolean | number) => (left: Semver, right: Semver) =>
  test(compareVersions(left.version, right.version));

export const semvers: Library = {
  name: 'kubernetes.Semver',
  types: [SEMVER],
  functions: [
    fn('semver', [
      overload('string_to_semver', [STRING], SEMVER, (text: string) => semver(text, false), textPass),
      overload('string_bool_to_semver', [STRING, BOOL], SEMVER, semver, textPass),
    ]),
    fn('isSemver', [
      overload('is_semver_string', [STRING], BOOL, (text: string) => isSemver(text, false), textPass),
      overload('is_semver_string_bool', [STRING, BOOL], BOOL, isSemver, textPass),
    ]),
    fn('major', [
      member(
        'semver_major',
        [SEMVER],
        INT,
        number((version) => version.major),
        one,
      ),
    ]),
    fn('minor', [
      member(
        'semver_minor',
        [SEMVER],
        INT,
        number((version) => version.minor),
        one,
      ),
    ]),
    fn('patch', [
      member(
        'semver_patch',
        [SEMVER],
        INT,
        number((version) => version.patch),
        one,
      ),
    ]),
    fn('isGreaterThan', [
      member(
        'semver_is_greater_than',
        [SEMVER, SEMVER],
        BOOL,
        compared((order) => order > 0),
        one,
      ),
    ]),
    fn('isLessThan', [
      member(
        'semver_is_less_than',
        [SEMVER, SEMVER],
        BOOL,
        compared((order) => order < 0),
        one,
      ),
    ]),
    fn('compareTo', [
      member(
        'semver_compare_to',
        [SEMVER, SEMVER],
        INT,
        compared((order) => order),
        one,
      ),
    ]),
  ],
};
