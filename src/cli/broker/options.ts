/** What the command line says about a broker. */
import type { DeployableKind } from '../../broker/index.ts';
import type { AllowedAddressFlags } from '../common/allowed-addresses.ts';
import type { LogLevel } from '../common/log.ts';

/** How Kafka is reached. */
export interface KafkaFlags {
  kafka?: string[];
  kafkaCa?: string;
  kafkaCert?: string;
  kafkaKey?: string;
  requestTopic: string;
  statusTopic: string;
}

export interface BrokerFlags extends AllowedAddressFlags, KafkaFlags {
  name: string;
  platformKeys: string;
  issuer: string;
  statusUrl?: string;
  platformCa?: string;
  platformCaConfigmap?: string;
  kubeconfig?: string;
  namespace: string;
  register?: string;
  insecureHttp?: boolean;
  keys?: string;
  tokenIssuer?: string;
  host: string;
  port: number;
  tlsCert?: string;
  tlsKey?: string;
  heartbeat: number;
  prices?: string;
  usageInterval: number;
  lease: number;
  tombstones: number;
  debugLedger?: boolean;
  logLevel: LogLevel;
}

export interface KubernetesBrokerFlags extends BrokerFlags {
  managementCluster?: boolean;
  image?: Record<string, string>;
}

export interface KafkaBrokerFlags extends BrokerFlags {
  topicsKafka: string[];
  advertised?: string[];
  metricsToken?: string;
}

export interface VerifyFlags extends KafkaFlags {
  key?: string;
  issuer: string;
  brokerIssuer?: string;
  listen: string;
  replyUrl?: string;
  kind?: DeployableKind;
  spec?: string;
  namespace: string;
  parameter?: Record<string, string>;
  timeout: number;
  insecureHttp?: boolean;
  output: 'text' | 'json';
}
