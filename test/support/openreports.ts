/** The CustomResourceDefinitions of openreports.io, from the Go module that defines them. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import type { UnknownObject } from '../../src/runtime/index.ts';

export function openReportsDefinitions(): UnknownObject[] {
  const module = 'github.com/openreports/reports-api@v0.2.1';
  const { Dir } = JSON.parse(execFileSync('go', ['mod', 'download', '-json', module], { encoding: 'utf8' })) as {
    Dir: string;
  };
  return ['reports', 'clusterreports'].map((plural) =>
    parse(readFileSync(join(Dir, 'config', 'crd', `openreports.io_${plural}.yaml`), 'utf8')),
  );
}
