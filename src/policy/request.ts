/** What a decision is about: one request to the API server, as an AdmissionReview carries it, or what is known of one. */

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

/** A JSON object whose shape is the user's: nothing in it may be taken for granted. */
export type Json = Readonly<Record<string, unknown>>;

/** What only a request can tell. A scan, a reconciler or a CLI may not have it, and must not guess. */
export type RequestPart = 'operation' | 'oldObject' | 'userInfo' | 'authorizer';

export interface AdmissionRequest {
  readonly uid: string;
  readonly kind: GroupVersionKind;
  readonly resource?: GroupVersionResource;
  readonly subResource?: string;
  /** As the user asked, where the API server has converted to a version that a webhook is registered for. */
  readonly requestKind?: GroupVersionKind;
  readonly requestResource?: GroupVersionResource;
  readonly requestSubResource?: string;
  readonly name?: string;
  readonly namespace?: string;
  readonly operation: Operation;
  readonly userInfo?: UserInfo;
  /** As it shall be; not there on DELETE. */
  readonly object?: Json;
  /** As it is; not there on CREATE. */
  readonly oldObject?: Json;
  readonly dryRun?: boolean;
  readonly options?: Json;
  /** What nobody knows here. A rule that reads one of these is skipped ("needs a request"), never passed. Left out: all is known. */
  readonly unknown?: readonly RequestPart[];
}
