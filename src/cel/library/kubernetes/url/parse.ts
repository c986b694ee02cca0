/** Parses and formats URLs like Go's net/url. All parts are byte strings; see escape.ts. */

import { parseAddress } from '../../net/address.ts';
import { type Bytes, decodePart, encodePart, fromBytes, isEncoded, quoteBytes, UrlProblem } from './escape.ts';

export interface ParsedUrl {
  readonly scheme: string;
  /** The part after the scheme if it is not a path, as in `mailto:someone`. */
  readonly opaque: Bytes;
  readonly user: { readonly name: Bytes; readonly password?: Bytes } | undefined;
  readonly host: Bytes;
  /** The unescaped path. */
  readonly path: Bytes;
  /** The path as written, if that differs from the default encoding of `path`. */
  readonly rawPath: Bytes;
  readonly query: Bytes;
  /** Whether the URL ends in a `?` without a query. */
  readonly emptyQuery: boolean;
  readonly fragment: Bytes;
  readonly rawFragment: Bytes;
  /** Whether it is written `scheme:/path`, without the two slashes. */
  readonly withoutHost: boolean;
}

/** `parseRequestUri` is url.ParseRequestURI: it accepts an absolute URL or path, and does not recognize fragments. */
export function parseRequestUri(text: Bytes): ParsedUrl | UrlProblem {
  return inContext(text, parse(text, true));
}

/** `parseUrl` is url.Parse: it also accepts relative references and a fragment. */
export function parseUrl(text: Bytes): ParsedUrl | UrlProblem {
  const [before, rawFragment = ''] = cut(text, '#');
  const url = inContext(before, parse(before, false));
  if (url instanceof UrlProblem || rawFragment === '') return url;
  const fragment = decodePart(rawFragment, 'fragment');
  if (fragment instanceof UrlProblem) return inContext(text, fragment);
  return { ...url, fragment, rawFragment: encodePart(fragment, 'fragment') === rawFragment ? '' : rawFragment };
}

const inContext = (text: Bytes, url: ParsedUrl | UrlProblem): ParsedUrl | UrlProblem =>
  url instanceof UrlProblem ? new UrlProblem(`parse ${quoteBytes(text)}: ${url.message}`) : url;

function cut(text: string, separator: string): [string, string?] {
  const at = text.indexOf(separator);
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + separator.length)];
}

const EMPTY: ParsedUrl = {
  scheme: '',
  opaque: '',
  user: undefined,
  host: '',
  path: '',
  rawPath: '',
  query: '',
  emptyQuery: false,
  fragment: '',
  rawFragment: '',
  withoutHost: false,
};

const CONTROL = /[\p{Cc}]/u;

function parse(text: Bytes, request: boolean): ParsedUrl | UrlProblem {
  if (hasControl(text)) return new UrlProblem('net/url: invalid control character in URL');
  if (text === '' && request) return new UrlProblem('empty url');
  if (text === '*') return { ...EMPTY, path: '*' };
  const split = splitScheme(text);
  if (split instanceof UrlProblem) return split;
  const { scheme } = split;
  const [beforeQuery, query = ''] = cut(split.rest, '?');
  const emptyQuery = query === '' && split.rest.endsWith('?');
  const base = { ...EMPTY, scheme, query, emptyQuery };
  if (!beforeQuery.startsWith('/')) {
    if (scheme !== '') return { ...base, opaque: beforeQuery };
    if (request) return new UrlProblem('invalid URI for request');
    if (cut(beforeQuery, '/')[0].includes(':')) {
      return new UrlProblem('first path segment in URL cannot contain colon');
    }
  }
  const hasAuthority = beforeQuery.startsWith('//') && (scheme !== '' || (!request && !beforeQuery.startsWith('///')));
  if (!hasAuthority) return withPath({ ...base, withoutHost: scheme !== '' }, beforeQuery);
  const slash = beforeQuery.indexOf('/', 2);
  const authority = parseAuthority(scheme, slash < 0 ? beforeQuery.slice(2) : beforeQuery.slice(2, slash));
  if (authority instanceof UrlProblem) return authority;
  return withPath({ ...base, ...authority }, slash < 0 ? '' : beforeQuery.slice(slash));
}

/** Reports ASCII control characters; in a byte string 0x80–0x9f belong to multi-byte characters. */
function hasControl(text: Bytes): boolean {
  if (!CONTROL.test(text)) return false;
  for (const character of text) if (character < ' ' || character === '\u007f') return true;
  return false;
}

const SCHEME = /^([a-zA-Z][a-zA-Z0-9+.-]*):/;

function splitScheme(text: Bytes): { scheme: string; rest: Bytes } | UrlProblem {
  if (text.startsWith(':')) return new UrlProblem('missing protocol scheme');
  const scheme = SCHEME.exec(text)?.[1];
  return scheme === undefined
    ? { scheme: '', rest: text }
    : { scheme: scheme.toLowerCase(), rest: text.slice(scheme.length + 1) };
}

function withPath(url: ParsedUrl, raw: Bytes): ParsedUrl | UrlProblem {
  const path = decodePart(raw, 'path');
  if (path instanceof UrlProblem) return path;
  return { ...url, path, rawPath: encodePart(path, 'path') === raw ? '' : raw };
}

const USER_INFO = /^[A-Za-z0-9\-._:~!$&'()*+,;=%@]*$/;

function parseAuthority(scheme: string, authority: Bytes): Pick<ParsedUrl, 'user' | 'host'> | UrlProblem {
  const at = authority.lastIndexOf('@');
  const host = parseHost(scheme, authority.slice(at + 1));
  if (host instanceof UrlProblem) return host;
  if (at < 0) return { user: undefined, host };
  const info = authority.slice(0, at);
  if (!USER_INFO.test(info)) return new UrlProblem('net/url: invalid userinfo');
  const [rawName, rawPassword] = cut(info, ':');
  const name = decodePart(rawName, 'user');
  if (name instanceof UrlProblem) return name;
  if (rawPassword === undefined) return { user: { name }, host };
  const password = decodePart(rawPassword, 'user');
  return password instanceof UrlProblem ? password : { user: { name, password }, host };
}

const PORT = /^(?::[0-9]*)?$/;

function parseHost(scheme: string, host: Bytes): Bytes | UrlProblem {
  const bracket = host.lastIndexOf('[');
  if (bracket > 0) return new UrlProblem('invalid IP-literal');
  if (bracket === 0) return parseBracketed(host);
  const first = host.indexOf(':');
  if (first >= 0) {
    // For http and https only a port may follow the colon; other schemes are not checked.
    const strict = scheme === 'http' || scheme === 'https';
    const port = host.slice(strict ? first : host.lastIndexOf(':'));
    if (!PORT.test(port)) return badPort(port);
  }
  return decodePart(host, 'host');
}

const badPort = (port: Bytes): UrlProblem => new UrlProblem(`invalid port ${quoteBytes(port)} after host`);

/** Parses `[::1]:80`, optionally with a zone: `[fe80::1%25en0]`. */
function parseBracketed(host: Bytes): Bytes | UrlProblem {
  const close = host.lastIndexOf(']');
  if (close < 0) return new UrlProblem("missing ']' in host");
  const port = host.slice(close + 1);
  if (!PORT.test(port)) return badPort(port);
  const inside = host.slice(1, close);
  const zoneAt = inside.indexOf('%25');
  const name = decodePart(zoneAt < 0 ? inside : inside.slice(0, zoneAt), 'host');
  if (name instanceof UrlProblem) return name;
  const zone = zoneAt < 0 ? '' : decodePart(inside.slice(zoneAt), 'zone');
  if (zone instanceof UrlProblem) return zone;
  const address = parseAddress(fromBytes(name + zone));
  if (typeof address === 'string') return new UrlProblem(`invalid host: ${address}`);
  if (address.bytes.length === 4) return new UrlProblem('invalid IP-literal');
  return `[${name}${zone}]${port}`;
}

/** `escapedPath` returns the path with its escapes, as written if that was a valid encoding. */
export function escapedPath(url: ParsedUrl): string {
  if (url.rawPath !== '' && isEncoded(url.rawPath, 'path') && decodePart(url.rawPath, 'path') === url.path) {
    return url.rawPath;
  }
  return url.path === '*' ? '*' : encodePart(url.path, 'path');
}

export function splitHost(host: Bytes): { name: Bytes; port: string } {
  const colon = host.lastIndexOf(':');
  const hasPort = colon >= 0 && PORT.test(host.slice(colon));
  const name = hasPort ? host.slice(0, colon) : host;
  return {
    name: name.startsWith('[') && name.endsWith(']') ? name.slice(1, -1) : name,
    port: hasPort ? host.slice(colon + 1) : '',
  };
}

const MAX_PARAMETERS = 10_000;

/** `queryParameters` returns the query parameters in order. Invalid ones are skipped; too many yield an empty list. */
export function queryParameters(query: Bytes): readonly (readonly [Bytes, Bytes])[] {
  const parts = query.split('&');
  if (parts.length > MAX_PARAMETERS) return [];
  const parameters: [Bytes, Bytes][] = [];
  for (const part of parts) {
    if (part === '' || part.includes(';')) continue;
    const [rawKey, rawValue = ''] = cut(part, '=');
    const key = decodePart(rawKey, 'query');
    const value = decodePart(rawValue, 'query');
    if (typeof key === 'string' && typeof value === 'string') parameters.push([key, value]);
  }
  return parameters;
}

/** `formatUrl` is Go's url.String(). */
export function formatUrl(url: ParsedUrl): string {
  let text = url.scheme === '' ? '' : `${url.scheme}:`;
  if (url.opaque !== '') text += url.opaque;
  else {
    text += formatAuthority(url);
    const path = escapedPath(url);
    if (path !== '' && !path.startsWith('/') && url.host !== '') text += '/';
    if (text === '' && cut(path, '/')[0].includes(':')) text += './';
    text += path;
  }
  if (url.emptyQuery || url.query !== '') text += `?${url.query}`;
  return url.fragment === '' ? text : `${text}#${escapedFragment(url)}`;
}

function formatAuthority({ scheme, host, user, path, withoutHost }: ParsedUrl): string {
  if (scheme === '' && host === '' && user === undefined) return '';
  if (withoutHost && host === '' && user === undefined) return '';
  let text = host !== '' || path !== '' || user !== undefined ? '//' : '';
  if (user !== undefined) {
    text += encodePart(user.name, 'user');
    if (user.password !== undefined) text += `:${encodePart(user.password, 'user')}`;
    text += '@';
  }
  return text + encodePart(host, 'host');
}

function escapedFragment({ fragment, rawFragment }: ParsedUrl): string {
  if (rawFragment !== '' && isEncoded(rawFragment, 'fragment') && decodePart(rawFragment, 'fragment') === fragment) {
    return rawFragment;
  }
  return encodePart(fragment, 'fragment');
}
