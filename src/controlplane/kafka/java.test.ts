import { describe, expect, it } from 'vitest';
import { explainMaven, javaVersion, requireJava } from './java.ts';

describe('requireJava', () => {
  const rows = [
    { reason: 'PATH has none', environment: { PATH: '/nowhere' } },
    { reason: 'JAVA_HOME is not there', environment: { PATH: '/nowhere', JAVA_HOME: '/nowhere/java' } },
  ];
  // `npm test` and `npm start` end with this message on a machine without Java.
  it.each(rows)('says what is missing and what to install: $reason', async ({ environment }) => {
    const failure = await requireJava(environment).catch((error: unknown) => error);
    expect(failure).toMatchObject({
      code: 'assets/no-java',
      message: expect.stringMatching(
        /^Java, which runs Kafka, was not found \(.+\)\. Install Java 17 or newer and Maven, or set JAVA_HOME\.$/,
      ),
    });
  });
});

describe('javaVersion', () => {
  const rows = [
    { reason: 'OpenJDK', said: 'openjdk version "17.0.15" 2025-04-15\nOpenJDK Runtime Environment', version: 17 },
    { reason: 'a first release', said: 'openjdk version "25" 2025-09-16', version: 25 },
    { reason: 'the old way to count', said: 'java version "1.8.0_402"', version: 8 },
    {
      reason: 'something before it',
      said: 'Picked up JAVA_TOOL_OPTIONS: -Xmx1g\nopenjdk version "21.0.1"',
      version: 21,
    },
    { reason: 'a Java that says something else', said: 'hello', version: undefined },
  ];
  it.each(rows)('$reason: $version', ({ said, version }) => {
    expect(javaVersion(said)).toBe(version);
  });
});

describe('explainMaven', () => {
  const rows = [
    {
      reason: 'the repository cannot be reached',
      said: '[\u001b[1;31mERROR\u001b[m] Failed to execute goal: Could not transfer artifact org.apache.kafka:kafka_2.13:pom:4.3.1 from/to central: Connection refused',
      code: 'assets/no-network',
      names: 'kafka_2.13',
    },
    {
      reason: 'Maven is offline',
      said: '[ERROR] Cannot access central in offline mode and the artifact x has not been downloaded from it before.',
      code: 'assets/no-network',
      names: 'offline mode',
    },
    {
      reason: 'the disk is full',
      said: '[ERROR] x.jar: No space left on device',
      code: 'assets/disk-full',
      names: 'x.jar',
    },
    {
      reason: 'the local repository belongs to another user',
      said: '[ERROR] Could not create local repository at /x: java.nio.file.AccessDeniedException: /x',
      code: 'assets/no-permission',
      names: '/x',
    },
    {
      reason: 'Maven finds no Java',
      said: 'The JAVA_HOME environment variable is not defined correctly',
      code: 'assets/no-java',
      names: 'Java',
    },
    {
      reason: 'there is no such version',
      said: '[ERROR] Could not find artifact org.apache.kafka:kafka_2.13:jar:99 in central',
      code: 'assets/build-failed',
      names: 'kafka_2.13:jar:99',
    },
  ];
  it.each(rows)('classifies the failure and keeps the output of Maven: $reason', ({ said, code, names }) => {
    const error = explainMaven({ output: `[INFO] Scanning\n${said}\n`, errors: '' });
    expect(error).toMatchObject({ code, message: expect.stringContaining(names) });
    expect(error.hint).not.toBe('');
  });
});
