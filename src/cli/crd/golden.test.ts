/** Golden tests: folders of definitions, and the expected output of `kidp crd`. */
import { join } from 'node:path';
import { runCrd } from '../../../test/support/crd-command.ts';
import { testGolden } from '../../../test/support/golden.ts';

testGolden(join(import.meta.dirname, 'golden'), runCrd);
