// Evaluates one object against one policy, as admission would.
import { readFileSync } from 'node:fs';
import { compilePolicy, decide, emptyWorld, policySet, readPolicy } from 'kidp/policy';
import { parse } from 'yaml';

const [policyFile = '', objectFile = ''] = process.argv.slice(2);
const { model, issues } = readPolicy(parse(readFileSync(policyFile, 'utf8')));
if (model === undefined) throw new Error(issues.map(({ message }) => message).join('\n'));
const { policy } = compilePolicy(model);
if (policy === undefined) throw new Error('the policy does not compile: run `kidp test` on it');

const object = parse(readFileSync(objectFile, 'utf8'));
const [version, group = ''] = object.apiVersion.split('/').reverse();
const request = { uid: 'example', kind: { group, version, kind: object.kind }, operation: 'CREATE' as const, object };
const { allowed, results } = decide(policySet({ policies: [policy] }), request, emptyWorld(Date.now()));

console.log(allowed ? 'allowed' : 'denied');
for (const { policy: name, rule, result, message, why } of results)
  console.log(`${result}: policy ${name}, rule ${rule}: ${why ?? message}`);
process.exitCode = allowed ? 0 : 1;
