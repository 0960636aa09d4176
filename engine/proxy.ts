/**
 * How a request leaves this machine: by Node.js's own fetch, or, where it goes through a proxy, its answer may take hours or
 * one certificate is expected, by the one of undici, the library that Node.js's is made of. Nothing goes through a proxy to
 * this machine itself.
 */
import { X509Certificate } from 'node:crypto'
import type { PeerCertificate } from 'node:tls'

/** URLs of proxies, and the hosts that are asked without: what HTTP_PROXY, HTTPS_PROXY and NO_PROXY say. */
export interface Proxies {
  readonly http?: string
  readonly https?: string
  /** Hosts (with their subdomains, and a port or not), separated by commas; `*` is all. */
  readonly no?: string
}

export type Fetch = (url: URL, init: RequestInit) => Promise<Response>

const LOOPBACK = /^(?:(?:.+\.)?localhost|127(?:\.\d{1,3}){3}|\[::1\])$/

/** Whether the URL may be asked through a proxy: only through the one of its own scheme. */
export function isProxied({ protocol, hostname }: URL, { http, https }: Proxies): boolean {
  return (protocol === 'https:' ? https : http) !== undefined && !LOOPBACK.test(hostname)
}

/**
 * @param certificate what is asked shows this one (PEM), whoever has issued it and whatever it names: no other is taken
 * @param isPatient waits for an answer to begin and to go on as long as it may take, and not for Node.js's five minutes
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
  // With TLS it is a tunnel all the same. In the clear many proxies allow none (Squid, but to port 443).
  const ways = { httpProxy: http, httpsProxy: https, noProxy: no, proxyTunnel: false }
  const dispatcher =
    proxies === undefined
      ? new undici.Agent({ ...times, ...(tls && { connect: tls }) })
      : new undici.EnvHttpProxyAgent({ ...times, ...ways, ...(tls && { connect: tls, requestTls: tls }) })
  // The same types by another name.
  return (url, init) => undici.fetch(url, { ...init, dispatcher } as object) as unknown as Promise<Response>
}

/** Trusts this certificate by itself, and nothing else that it vouches for. */
function showing(certificate: string) {
  const { fingerprint256: own } = new X509Certificate(certificate)
  return {
    ca: certificate,
    allowPartialTrustChain: true,
    checkServerIdentity: (_: string, { fingerprint256 }: PeerCertificate) =>
      fingerprint256 === own ? undefined : new Error('it shows another certificate than was expected'),
  }
}
