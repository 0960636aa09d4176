/**
 * Requests through a forward proxy, by undici: the library behind Node.js's fetch, which can do that. Requests to this
 * machine itself never use a proxy.
 */
import { headersOf, showing, type Transport } from './transport.ts'

/** Proxy URLs, and hosts to be asked directly, from HTTP_PROXY, HTTPS_PROXY and NO_PROXY. */
export interface Proxies {
  readonly http?: string
  readonly https?: string
  /** Hosts (including subdomains, optionally with a port), separated by commas; `*` means all. */
  readonly no?: string
}

const LOOPBACK = /^(?:(?:.+\.)?localhost|127(?:\.\d{1,3}){3}|\[::1\])$/

/** Whether the URL is requested through a proxy: only through the one for its scheme. */
export function isProxied({ protocol, hostname }: URL, { http, https }: Proxies): boolean {
  return (protocol === 'https:' ? https : http) !== undefined && !LOOPBACK.test(hostname)
}

/** @param certificate the only certificate (PEM) to accept, whoever issued it and whatever name it has */
export async function throughProxies(proxies: Proxies, certificate?: string): Promise<Transport> {
  const { EnvHttpProxyAgent, request } = await import('undici')
  const tls = certificate === undefined ? undefined : await showing(certificate)
  const { http = '', https = '', no = '' } = proxies
  const dispatcher = new EnvHttpProxyAgent({
    httpProxy: http,
    httpsProxy: https,
    noProxy: no,
    // With TLS a tunnel is used all the same. Without, many proxies refuse tunnels (Squid, except to port 443).
    proxyTunnel: false,
    headersTimeout: 0,
    bodyTimeout: 0,
    ...(tls && { connect: tls, requestTls: tls }),
  })
  return async (url, { method, headers, body = null, signal }) => {
    const answer = await request(url, { dispatcher, method: method as 'GET', headers, body, signal })
    // Unlike that of node:http, its body fails when it is destroyed early; without a listener that ends the process.
    answer.body.on('error', () => {})
    return { status: answer.statusCode, headers: headersOf(answer.headers), body: answer.body }
  }
}
