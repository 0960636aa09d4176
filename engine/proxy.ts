/**
 * How a request leaves this machine: by Node.js's own fetch, or, where it goes through a proxy or its answer may take hours,
 * by the one of undici, the library that Node.js's is made of. Nothing goes through a proxy to this machine itself.
 */

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

/** @param isPatient waits for an answer to begin and to go on as long as it may take, and not for Node.js's five minutes. */
export async function fetchThrough(proxies: Proxies | undefined, isPatient: boolean): Promise<Fetch> {
  const undici = await import('undici')
  const times = isPatient ? { headersTimeout: 0, bodyTimeout: 0 } : {}
  const { http = '', https = '', no = '' } = proxies ?? {}
  // With TLS it is a tunnel all the same. In the clear many proxies allow none (Squid, but to port 443).
  const ways = { httpProxy: http, httpsProxy: https, noProxy: no, proxyTunnel: false }
  const dispatcher =
    proxies === undefined ? new undici.Agent(times) : new undici.EnvHttpProxyAgent({ ...times, ...ways })
  // The same types by another name.
  return (url, init) => undici.fetch(url, { ...init, dispatcher } as object) as unknown as Promise<Response>
}
