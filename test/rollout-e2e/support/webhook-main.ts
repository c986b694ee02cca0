/**
 * Runs a slow webhook in a process of its own: prints its URL and certificate authority as JSON, and serves until it is
 * killed.
 */
import { startWebhook } from '../../fleet-health/support/webhook.ts';

// Standard input closes when the test runner ends, even after kill -9: this process must not outlive it.
process.stdin.resume().on('close', () => process.exit());

const webhook = await startWebhook();
// Far longer than the check allows, so that even a busy process measures it as slow, yet short enough not to run into
// the timeout.
webhook.answerAfter(2_500);
process.stdout.write(`${JSON.stringify({ url: webhook.url, authority: webhook.authority.certificate })}\n`);
