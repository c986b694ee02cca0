/** An admission request, as in an AdmissionReview, possibly incomplete. */

export type Operation = 'CREATE' | 'UPDATE' | 'DELETE' | 'CONNECT';

export interface GroupVersionKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

export interface GroupVersionResource {
  readonly group: string;
  readonly version: string;
  readonly resource: string;
}

export interface UserInfo {
  readonly username?: string;
  readonly uid?: string;
  readonly groups?: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

/** A JSON object from a user. Its shape is not validated. */
export type Json = Readonly<Record<string, unknown>>;

/**
 * The parts of a request that a stored object does not have. Scans, reconcilers and the CLI may lack them and must not
 * guess.
 */
export type RequestPart = 'operation' | 'oldObject' | 'userInfo' | 'authorizer';

export interface AdmissionRequest {
  readonly uid: string;
  readonly kind: GroupVersionKind;
  readonly resource?: GroupVersionResource;
  readonly subResource?: string;
  /** The original kind, if the API server converted the object to the version that a webhook is registered for. */
  readonly requestKind?: GroupVersionKind;
  readonly requestResource?: GroupVersionResource;
  readonly requestSubResource?: string;
  readonly name?: string;
  readonly namespace?: string;
  readonly operation: Operation;
  readonly userInfo?: UserInfo;
  /** The new object; absent on DELETE. */
  readonly object?: Json;
  /** The existing object; absent on CREATE. */
  readonly oldObject?: Json;
  readonly dryRun?: boolean;
  readonly options?: Json;
  /**
   * The client that sent the review; it is not part of the review. Without a client certificate of the API server, it
   * may be anyone on the network: `trusted` is false.
   */
  readonly caller?: { readonly trusted: boolean; readonly address?: string };
  /**
   * The unknown parts; none by default. A rule that reads one of them is skipped ("needs a request") and never passes.
   */
  readonly unknown?: readonly RequestPart[];
}
