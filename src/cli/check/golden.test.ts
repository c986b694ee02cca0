/** Folders of policies and manifests, and what `kidp check` says of them. */
import { join } from 'node:path';
import { runCheck } from '../../../test/support/check-command.ts';
import { testGolden } from '../../../test/support/golden.ts';

testGolden(join(import.meta.dirname, 'golden'), runCheck);
