/** What those who run the platform decide about rollouts: who approves what, how many run at once, who is told. */
import { parse } from 'yaml';
import {
  type ApprovalType,
  type ApproverRole,
  approverRoles,
  type Environment,
  environments,
} from '../../api/index.ts';
import { ConfigError } from '../../runtime/index.ts';

/** Those who have to agree before the next level is asked. */
export interface ApprovalLevel {
  readonly role: ApproverRole;
  readonly approvals: number;
}

export interface RolloutSettings {
  /** Of a rollout that reaches clusters of the environment; none: nobody has to agree. */
  readonly approvals: Readonly<Record<Environment, readonly ApprovalLevel[]>>;
  /** Of another version than the one that is there. */
  readonly versionUpgrade: { readonly environments: readonly Environment[]; readonly levels: readonly ApprovalLevel[] };
  /** Of custom resource definitions that would break somebody. */
  readonly breakingDefinitions: {
    readonly environments: readonly Environment[];
    readonly levels: readonly ApprovalLevel[];
  };
  /** Rollouts that are under way at once, in the whole system (requirement 002: 20). */
  readonly maxConcurrent: number;
  /** Who is told by e-mail of an Approval that waits, by its environment. */
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

/** Who has to agree to what, in an environment; none: nobody. */
export function levelsFor(
  settings: RolloutSettings,
  type: ApprovalType,
  environment: Environment,
): readonly ApprovalLevel[] {
  if (type === 'ProductionDeployment') return settings.approvals[environment];
  const rule = type === 'VersionUpgrade' ? settings.versionUpgrade : settings.breakingDefinitions;
  return rule.environments.includes(environment) ? rule.levels : [];
}

/** Reads a file of settings, YAML or JSON; what it leaves out is as by default. Throws a ConfigError that names the field. */
export function readRolloutSettings(text: string): RolloutSettings {
  let value: unknown;
  try {
    value = parse(text, { maxAliasCount: 0 });
  } catch (error) {
    throw wrong('the file', `is no YAML: ${error instanceof Error ? error.message : String(error)}`);
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
    message: `Settings of rollouts: ${where} ${message}`,
    hint: 'docs/rollouts.md shows a file with all settings',
  });

function members(value: unknown, where: string, known: readonly string[]): Members {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw wrong(where, 'is no mapping');
  const strange = Object.keys(value).find((key) => !known.includes(key));
  if (strange !== undefined) throw wrong(where, `has no field ${strange}, only ${known.join(', ')}`);
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
    throw wrong(`${where}.environments`, `is no list of ${environments.join(', ')}`);
  }
  return {
    environments: named as Environment[],
    levels: rule.levels === undefined ? otherwise.levels : readLevels(rule.levels, `${where}.levels`),
  };
}

/** As many as an Approval takes. */
const mostLevels = 4;
const mostApprovals = 8;

function readLevels(value: unknown, where: string): ApprovalLevel[] {
  if (!Array.isArray(value) || value.length > mostLevels)
    throw wrong(where, `is no list of at most ${mostLevels} levels`);
  return value.map((each, index) => {
    const place = `${where}[${index}]`;
    const { role, approvals = 1 } = members(each, place, ['role', 'approvals']);
    if (!approverRoles.some((known) => known === role))
      throw wrong(`${place}.role`, `is none of ${approverRoles.join(', ')}`);
    return { role: role as ApproverRole, approvals: readCount(approvals, `${place}.approvals`, mostApprovals) };
  });
}

function readCount(value: unknown, where: string, most: number): number {
  if (typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= most) return value;
  throw wrong(where, `is no number from 1 to ${most}`);
}

function readAddresses(value: unknown, where: string): string[] {
  const isAddress = (each: unknown) => typeof each === 'string' && /^[^\s@<>,;]+@[^\s@<>,;]+$/.test(each);
  if (!Array.isArray(value) || value.length > 32 || !value.every(isAddress)) {
    throw wrong(where, 'is no list of at most 32 e-mail addresses');
  }
  return value as string[];
}
