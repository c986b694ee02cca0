/**
 * The rollout settings of the platform: required approvals, the maximum of concurrent rollouts, and notification
 * addresses.
 */
import {
  type ApprovalType,
  type ApproverRole,
  approverRoles,
  type Environment,
  environments,
} from '../../api/index.ts';
import { ConfigError } from '../../runtime/index.ts';
import { parseYaml } from '../../runtime/internal.ts';

/** One level of approval. The next level is asked after it. */
export interface ApprovalLevel {
  readonly role: ApproverRole;
  readonly approvals: number;
}

export interface RolloutSettings {
  /** The approvals of a rollout to clusters of an environment. An empty list means that none is required. */
  readonly approvals: Readonly<Record<Environment, readonly ApprovalLevel[]>>;
  /** The approvals of a version upgrade. */
  readonly versionUpgrade: { readonly environments: readonly Environment[]; readonly levels: readonly ApprovalLevel[] };
  /** The approvals of breaking CRD changes. */
  readonly breakingDefinitions: {
    readonly environments: readonly Environment[];
    readonly levels: readonly ApprovalLevel[];
  };
  /** The maximum of concurrent rollouts in the whole system (docs/requirements.md, 002 Scalability targets: 20). */
  readonly maxConcurrent: number;
  /** The e-mail addresses that are notified of a pending Approval, by environment. */
  readonly notify: Readonly<Partial<Record<Environment, readonly string[]>>>;
}

const admin: readonly ApprovalLevel[] = [{ role: 'Admin', approvals: 1 }];

export const defaultRolloutSettings: RolloutSettings = {
  approvals: { Dev: [], Staging: [], Production: [{ role: 'EnvironmentOwner', approvals: 1 }] },
  versionUpgrade: { environments: ['Production'], levels: admin },
  breakingDefinitions: { environments: ['Production'], levels: admin },
  maxConcurrent: 20,
  notify: {},
};

/** The approval levels of a type of change in an environment. An empty list means that none is required. */
export function levelsFor(
  settings: RolloutSettings,
  type: ApprovalType,
  environment: Environment,
): readonly ApprovalLevel[] {
  if (type === 'ProductionDeployment') return settings.approvals[environment];
  const rule = type === 'VersionUpgrade' ? settings.versionUpgrade : settings.breakingDefinitions;
  return rule.environments.includes(environment) ? rule.levels : [];
}

/**
 * Reads a settings file, YAML or JSON. Missing fields have their defaults. Throws a ConfigError that names the field.
 */
export function readRolloutSettings(text: string): RolloutSettings {
  let value: unknown;
  try {
    value = parseYaml(text, { maxAliasCount: 0 });
  } catch (error) {
    throw wrong('the file', `is not valid YAML: ${error instanceof Error ? error.message : String(error)}`);
  }
  const known = ['approvals', 'versionUpgrade', 'breakingDefinitions', 'maxConcurrent', 'notify'];
  const file = members(value ?? {}, 'the file', known);
  const { approvals, versionUpgrade, breakingDefinitions, maxConcurrent, notify } = defaultRolloutSettings;
  return {
    approvals: { ...approvals, ...byEnvironment(file.approvals, 'approvals', readLevels) },
    versionUpgrade: readRule(file.versionUpgrade, 'versionUpgrade', versionUpgrade),
    breakingDefinitions: readRule(file.breakingDefinitions, 'breakingDefinitions', breakingDefinitions),
    maxConcurrent: readCount(file.maxConcurrent ?? maxConcurrent, 'maxConcurrent', 1000),
    notify: { ...notify, ...byEnvironment(file.notify, 'notify', readAddresses) },
  };
}

type Members = Readonly<Record<string, unknown>>;

const wrong = (where: string, message: string): ConfigError =>
  new ConfigError({
    code: 'rollout-settings',
    message: `rollout settings: ${where} ${message}`,
    hint: 'See docs/rollouts.md for a file with all settings',
  });

function members(value: unknown, where: string, known: readonly string[]): Members {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw wrong(where, 'is not a mapping');
  const unknown = Object.keys(value).find((key) => !known.includes(key));
  if (unknown !== undefined) throw wrong(where, `has the unknown field ${unknown}, want one of ${known.join(', ')}`);
  return value as Members;
}

function byEnvironment<T>(
  value: unknown,
  where: string,
  read: (value: unknown, where: string) => T,
): Partial<Record<Environment, T>> {
  const found = Object.entries(members(value ?? {}, where, environments));
  return Object.fromEntries(found.map(([name, each]) => [name, read(each, `${where}.${name}`)]));
}

function readRule(value: unknown, where: string, otherwise: RolloutSettings['versionUpgrade']) {
  const rule = members(value ?? {}, where, ['environments', 'levels']);
  const named = rule.environments ?? otherwise.environments;
  if (!Array.isArray(named) || !named.every((each) => environments.includes(each))) {
    throw wrong(`${where}.environments`, `must be a list of ${environments.join(', ')}`);
  }
  return {
    environments: named as Environment[],
    levels: rule.levels === undefined ? otherwise.levels : readLevels(rule.levels, `${where}.levels`),
  };
}

/** The limits of the Approval schema. */
const maxLevels = 4;
const maxApprovals = 8;

function readLevels(value: unknown, where: string): ApprovalLevel[] {
  if (!Array.isArray(value) || value.length > maxLevels)
    throw wrong(where, `must be a list of at most ${maxLevels} levels`);
  return value.map((each, index) => {
    const place = `${where}[${index}]`;
    const { role, approvals = 1 } = members(each, place, ['role', 'approvals']);
    if (!approverRoles.some((known) => known === role))
      throw wrong(`${place}.role`, `must be one of ${approverRoles.join(', ')}`);
    return { role: role as ApproverRole, approvals: readCount(approvals, `${place}.approvals`, maxApprovals) };
  });
}

function readCount(value: unknown, where: string, max: number): number {
  if (typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= max) return value;
  throw wrong(where, `must be a number from 1 to ${max}`);
}

function readAddresses(value: unknown, where: string): string[] {
  const isAddress = (each: unknown) => typeof each === 'string' && /^[^\s@<>,;]+@[^\s@<>,;]+$/.test(each);
  if (!Array.isArray(value) || value.length > 32 || !value.every(isAddress)) {
    throw wrong(where, 'must be a list of at most 32 e-mail addresses');
  }
  return value as string[];
}
