const ipv4Loopback = /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/;

/**
 * `isLoopback` reports whether a host, as a URL or a listen address spells it, is this machine. Other names are not resolved:
 * `127.example.com` is no loopback address, wherever it points.
 */
export const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '::1' || host === '[::1]' || ipv4Loopback.test(host);
