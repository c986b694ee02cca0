/** A contestant: parses all YAML of the repository with the package `yaml`, and does nothing with it. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';

const directory = process.argv[2] ?? '';
let documents = 0;
for (const file of readdirSync(directory, { recursive: true, encoding: 'utf8' }).filter((name) =>
  name.endsWith('.yaml'),
)) {
  for (const document of parseAllDocuments(readFileSync(join(directory, file), 'utf8'))) {
    document.toJS();
    documents += 1;
  }
}
if (documents === 0) throw new Error('nothing was parsed');
