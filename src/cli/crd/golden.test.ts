/** Folders of definitions, and what `kidp crd` says of them. */
import { join } from 'node:path';
import { runCrd } from '../../../test/support/crd-command.ts';
import { testGolden } from '../../../test/support/golden.ts';

testGolden(join(import.meta.dirname, 'golden'), runCrd);
