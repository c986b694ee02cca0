/**
 * Leader election: one replica at a time acts, and its writes end with its Lease (see docs/decisions/0013-fenced-writes.md).
 *
 * In: a `Client` and the name of a Lease. Out: callbacks for leading and for losing the lead, and a fence for writes. It must not
 * know what a leader does.
 */
export { type ElectionOptions, LeaderElection } from './election.ts';
export { fenced } from './fence.ts';
export { type Lease, leases } from './lease.ts';
