/** Real Flux applies commits to a real API server with the platform's admission webhooks. */
import { afterAll, beforeAll } from 'vitest';
import { definitionTests } from './support/definitions-tests.ts';
import { policyTests } from './support/policies-tests.ts';
import { settingTests } from './support/settings-tests.ts';
import { type FluxStage, startFluxStage } from './support/stage.ts';

let stage: FluxStage;
beforeAll(async () => {
  stage = await startFluxStage();
});
afterAll(() => stage?.stop());

settingTests(() => stage);
definitionTests(() => stage);
policyTests(() => stage);
