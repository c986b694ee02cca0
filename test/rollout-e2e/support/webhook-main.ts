/** A webhook that takes its time, as a process of its own: prints where it is and whom to trust, and answers for as long as it runs. */
import { startWebhook } from '../../fleet-health/webhook.ts';

const webhook = await startWebhook();
// Much longer than it may, so that it is slow also in the eyes of a process that is busy, and not so long that it is given up.
webhook.answerAfter(2_500);
process.stdout.write(`${JSON.stringify({ url: webhook.url, authority: webhook.authority.certificate })}\n`);
