/** The webhook with the gate of definitions, as a process of its own. Says once it is called for them. */
import { startAdmission } from '../../src/admission/index.ts';
import { connect, loadKubeconfig } from '../../src/runtime/index.ts';

const [file = ''] = process.argv.slice(2);
const admission = await startAdmission({ client: connect(loadKubeconfig({ file })), crds: {} });
while (!admission.ready) await new Promise((resolve) => setTimeout(resolve, 5));
process.stdout.write('ready\n');
