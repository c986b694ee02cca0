/** Runs many cases on a real API server and collects the findings. */
import type { Json } from '../../../src/crd-compat/index.ts';
import type { Client } from '../../../src/runtime/index.ts';
import { type Case, type Finding, judge, prepare } from './judge.ts';
import { attemptAll } from './together.ts';

export interface Campaign {
  readonly findings: readonly (Finding & { readonly case: Case })[];
  /** The number of cases per verdict, and of objects and witnesses that were tried. */
  readonly tally: Record<'safe' | 'risky' | 'breaking' | 'notTaken' | 'objects' | 'witnesses', number>;
}

export async function campaign(client: Client, cases: readonly Case[]): Promise<Campaign> {
  const prepared = cases.map(prepare);
  const outcomes = await attemptAll(
    client,
    prepared.map(({ attempt }) => attempt),
  );
  const tally = { safe: 0, risky: 0, breaking: 0, notTaken: 0, objects: 0, witnesses: 0 };
  const findings = prepared.flatMap((each, index) => {
    const outcome = outcomes[index] as (typeof outcomes)[number];
    const isTaken = outcome.notSetUp === undefined && outcome.changeRefused === undefined;
    tally[isTaken ? each.verdict.verdict : 'notTaken'] += 1;
    tally.objects += isTaken ? each.case.objects.length : 0;
    tally.witnesses += isTaken ? each.shown.length : 0;
    return judge(each, outcome).map((finding) => ({ ...finding, case: each.case }));
  });
  return { findings, tally };
}

/** The data to reproduce the first dozen findings. */
export function report(findings: Campaign['findings']): string {
  const shown = findings
    .slice(0, 12)
    .map(({ sort, text, case: { name, before, after } }) =>
      [`${sort}: ${name}`, text.slice(0, 1500), `before ${versionsOf(before)}`, `after  ${versionsOf(after)}`].join(
        '\n  ',
      ),
    );
  const left = findings.length - shown.length;
  return [...shown, ...(left > 0 ? [`and ${left} more`] : [])].join('\n');
}

const versionsOf = (definition: Json): string =>
  JSON.stringify((definition as { spec?: { versions?: unknown } }).spec?.versions).slice(0, 3000);
