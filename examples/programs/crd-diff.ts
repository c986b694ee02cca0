// Compares two versions of a CustomResourceDefinition and shows an object for each breaking change.
import { readFileSync } from 'node:fs';
import { compareCrds, readCrd } from 'kidp/crd-compat';
import { parse } from 'yaml';

const [before, after] = process.argv.slice(2, 4).map((file) => {
  const { crd, issues } = readCrd(parse(readFileSync(file, 'utf8')));
  if (crd === undefined) throw new Error(`${file}: ${issues.map(({ message }) => message).join(' ')}`);
  return crd;
});
const { verdict, changes } = compareCrds(before, after);

console.log(verdict);
for (const { path, kind, class: severity, message, advice, witness } of changes) {
  console.log(`${severity}: ${path} (${kind}): ${message}`);
  if (advice !== '') console.log(`  ${advice}`);
  if (witness !== undefined) console.log(`  for example ${JSON.stringify(witness)}`);
}
process.exitCode = verdict === 'breaking' ? 1 : 0;
