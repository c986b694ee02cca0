/** OperatorInstallations: what is on a cluster, written down after it was put there and after it was taken back. */
import {
  API_VERSION,
  installationLabels,
  installationName,
  type OperatorInstallation,
  operatorInstallation,
} from '../../../api/index.ts';
import { type Client, isAlreadyExists, isNotFound } from '../../../runtime/index.ts';
import { differences } from '../../deployable/write-status.ts';
import { fieldManager } from './ledger.ts';

export type InstallationSpec = OperatorInstallation['spec'];

/** Where it says so already, nothing is written: those who watch it have nothing to see. */
export async function writeInstallation(client: Client, spec: InstallationSpec): Promise<void> {
  const name = installationName(spec.operator, spec.cluster);
  const labels = installationLabels(spec.operator, spec.cluster);
  const object: OperatorInstallation = {
    apiVersion: API_VERSION,
    kind: operatorInstallation.kind,
    metadata: { name, labels },
    spec,
  };
  try {
    await client.create(operatorInstallation.resource, object, { fieldManager });
    return;
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
  }
  const found = await client.get<OperatorInstallation>(operatorInstallation.resource, { name });
  const changed = differences({ ...found.spec }, { ...spec });
  if (Object.keys(changed).length === 0) return;
  const body = { metadata: { labels }, spec: changed };
  await client.patch(operatorInstallation.resource, { name }, { type: 'merge', body }, { fieldManager });
}

export async function forgetInstallation(client: Client, operator: string, cluster: string): Promise<void> {
  try {
    await client.delete(operatorInstallation.resource, { name: installationName(operator, cluster) });
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}
