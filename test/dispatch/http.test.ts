/** Everything together, with HTTP alone between the platform and its brokers. */
import { afterAll, beforeAll } from 'vitest';
import { useKafka } from '../support/kafka.ts';
import { burstTests } from './support/burst.ts';
import { costTests } from './support/costs.ts';
import { aroundTests } from './support/edge-cases.ts';
import { obstacleTests } from './support/failures.ts';
import { lifecycleTests } from './support/lifecycle.ts';
import { relationshipTests } from './support/relationships.ts';
import { type Stage, startStage } from './support/stage.ts';

let stage: Stage;
beforeAll(async () => {
  stage = await startStage({ topics: await useKafka() });
});
afterAll(() => stage?.stop());

lifecycleTests(() => stage, 'HTTP');
relationshipTests(() => stage);
obstacleTests(() => stage);
burstTests(() => stage);
costTests(() => stage);
aroundTests(() => stage);
