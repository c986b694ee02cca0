/** The URL library of Kubernetes: `url("https://example.com/a").getHost()`. */
import { fn, type Library, member, overload } from '../../declarations.ts';
import { setOwn } from '../../map.ts';
import { BOOL, list, map, object, STRING } from '../../types.ts';
import { CelError, noSuchOverload, TypeValue, type Value } from '../../values.ts';
import { estimate, nominal, scale, sizeOfNode, textPass } from '../estimate.ts';
import { ComparedValue } from '../opaque.ts';
import { fromBytes, toBytes, UrlProblem } from './url/escape.ts';
import {
  escapedPath,
  formatUrl,
  type ParsedUrl,
  parseRequestUri,
  parseUrl,
  queryParameters,
  splitHost,
} from './url/parse.ts';

const NAME = 'kubernetes.URL';
const RUNTIME_TYPE = new TypeValue(NAME);

const URL_TYPE = object(NAME);

export class UrlValue extends ComparedValue {
  override readonly type = RUNTIME_TYPE;
  readonly url: ParsedUrl;

  constructor(url: ParsedUrl) {
    super();
    this.url = url;
  }

  override equalsOrError(other: Value): boolean | CelError {
    return other instanceof UrlValue ? formatUrl(this.url) === formatUrl(other.url) : noSuchOverload();
  }

  override toString(): string {
    return fromBytes(formatUrl(this.url));
  }
}

/** `requestUriProblem` returns the error of `text` as an absolute URL or path, or undefined if it is valid. */
export function requestUriProblem(text: string): string | undefined {
  const parsed = parseRequestUri(toBytes(text));
  return parsed instanceof UrlProblem ? parsed.message : undefined;
}

function toUrl(text: string): UrlValue | CelError {
  const bytes = toBytes(text);
  const request = parseRequestUri(bytes);
  // The text is parsed twice, as in Kubernetes: the first parser rejects relative URLs, the second handles fragments.
  const parsed = request instanceof UrlProblem ? request : parseUrl(bytes);
  if (!(parsed instanceof UrlProblem)) return new UrlValue(parsed);
  return new CelError('invalid_argument', `URL parse error during conversion from string: ${parsed.message}`);
}

function queryOf({ url }: UrlValue): Value {
  const query: Record<string, string[]> = {};
  for (const [rawKey, value] of queryParameters(url.query)) {
    const key = fromBytes(rawKey);
    if (Object.hasOwn(query, key)) (query[key] as string[]).push(fromBytes(value));
    else setOwn(query as Record<string, Value>, key, [fromBytes(value)]);
  }
  return query;
}

const part = (name: string, id: string, of: (url: ParsedUrl) => string) =>
  fn(name, [member(id, [URL_TYPE], STRING, ({ url }: UrlValue) => fromBytes(of(url)), { estimate: nominal })]);

export const urls: Library = {
  name: 'kubernetes.urls',
  types: [URL_TYPE],
  functions: [
    fn('url', [
      overload('string_to_url', [STRING], URL_TYPE, toUrl, {
        ...textPass,
        estimate: (_target, [text]) => estimate(scale(sizeOfNode(text), 0.1), sizeOfNode(text)),
      }),
    ]),
    fn('isURL', [overload('is_url_string', [STRING], BOOL, (text: string) => requestUriProblem(text) === undefined)]),
    part('getScheme', 'url_get_scheme', (url) => url.scheme),
    part('getHost', 'url_get_host', (url) => url.host),
    part('getHostname', 'url_get_hostname', (url) => splitHost(url.host).name),
    part('getPort', 'url_get_port', (url) => splitHost(url.host).port),
    part('getEscapedPath', 'url_get_escaped_path', escapedPath),
    fn('getQuery', [member('url_get_query', [URL_TYPE], map(STRING, list(STRING)), queryOf, { estimate: nominal })]),
  ],
};
