/** What holds for every request of ours to an address that somebody else has written down. */

const loopback = /^(localhost|127(\.[0-9]{1,3}){3}|\[::1\])$/;

/** What goes over plain HTTP can be read, and what comes over it put there, by anybody on the way: only within this machine, or if told to. */
export const isSafeToReach = (url: URL, insecureHttp: boolean): boolean =>
  url.protocol === 'https:' || (url.protocol === 'http:' && (insecureHttp || loopback.test(url.hostname)));

/** Rejects as soon as it is more. */
export async function readAtMost(body: AsyncIterable<Uint8Array>, bytes: number): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of body) {
    length += chunk.length;
    if (length > bytes) throw new Error(`the answer is larger than ${bytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
