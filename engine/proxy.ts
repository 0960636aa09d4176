/**
 * How a request leaves this machine: by Node.js's own fetch or, if it goes through a proxy, its answer may take hours
 * or a particular certificate is expected, by that of undici, the library behind Node.js's fetch. Requests to this
 * machine itself never use a proxy.
 */
import { X509Certificate } from 'node:crypto'
import type { PeerCertificate } from 'node:tls'

/** Proxy URLs, and hosts to be asked directly, from HTTP_PROXY, HTTPS_PROXY and NO_PROXY. */
export interface Proxies {
  readonly http?: string
  readonly https?: string
  /** Hosts (including subdomains, optionally with a port), separated by commas; `*` means all. */
  readonly no?: string
}

export type Fetch = (url: URL, init: RequestInit) => Promise<Response>

const LOOPBACK = /^(?:(?:.+\.)?localhost|127(?:\.\d{1,3}){3}|\[::1\])$/

/** Whether the URL is requested through a proxy: only through the one for its scheme. */
export function isProxied({ protocol, hostname }: URL, { http, https }: Proxies): boolean {
  return (protocol === 'https:' ? https : http) !== undefined && !LOOPBACK.test(hostname)
}

/**
 * @param certificate the only certificate (PEM) to accept, whoever issued it and whatever name it has
 * @param isPatient waits for the answer as long as it takes, instead of Node.js's five minutes
 */
export async function fetchThrough(
  proxies: Proxies | undefined,
  isPatient: boolean,
  certificate?: string,
): Promise<Fetch> {
  const undici = await import('undici')
  const tls = certificate === undefined ? undefined : showing(certificate)
  const times = isPatient ? { headersTimeout: 0, bodyTimeout: 0 } : {}
  const { http = '', https = '', no = '' } = proxies ?? {}
  // With TLS a tunnel is used all the same. Without, many proxies refuse tunnels (Squid, except to port 443).
  const ways = { httpProxy: http, httpsProxy: https, noProxy: no, proxyTunnel: false }
  const dispatcher =
    proxies === undefined
      ? new undici.Agent({ ...times, ...(tls && { connect: tls }) })
      : new undici.EnvHttpProxyAgent({ ...times, ...ways, ...(tls && { connect: tls, requestTls: tls }) })
  // The same types under another name.
  return (url, init) => undici.fetch(url, { ...init, dispatcher } as object) as unknown as Promise<Response>
}

/** Trusts exactly this certificate, and no other that it has signed. */
function showing(certificate: string) {
  const { fingerprint256: own } = new X509Certificate(certificate)
  return {
    ca: certificate,
    allowPartialTrustChain: true,
    checkServerIdentity: (_: string, { fingerprint256 }: PeerCertificate) =>
      fingerprint256 === own ? undefined : new Error('it presents a different certificate than expected'),
  }
}
