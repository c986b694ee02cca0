/** A webhook as a process of its own, so that an attack and its victim do not share an event loop. Prints its address and CA as JSON. */
import { startAdmission } from '../../../src/admission/index.ts';

const { CLIENT_CA: ca = '' } = process.env;
const clients = { current: () => ({ ca }), subscribe: () => () => {} };
const admission = await startAdmission(ca === '' ? {} : { clients });
process.stdout.write(`${JSON.stringify({ port: admission.port, ca: admission.caBundle })}\n`);
