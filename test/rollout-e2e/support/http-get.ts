/** An authorized GET over HTTPS or HTTP. */
import { Agent, request } from 'undici';
import { expect } from 'vitest';

export async function read(
  url: string,
  { ca, token }: { readonly ca?: string; readonly token?: string },
): Promise<string> {
  const dispatcher = new Agent(ca === undefined ? {} : { connect: { ca } });
  try {
    const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
    const { statusCode, body } = await request(url, { dispatcher, headers });
    const text = await body.text();
    expect(statusCode, `${url}: ${text}`).toBe(200);
    return text;
  } finally {
    await dispatcher.close();
  }
}
