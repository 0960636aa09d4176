/**
 * How a request leaves this machine: straight to the service, by `node:http`. Node.js's fetch is not used: before its
 * first request it takes 0.2 s of CPU, which was 40 % of what a command uses (measured on Node.js 20), and it gives up an
 * answer that takes five minutes. A transport sets no limit of time and follows no redirect.
 */
import { type ClientRequest, type IncomingMessage, type RequestOptions, request as requestPlain } from 'node:http'
import { pipeline, type Readable } from 'node:stream'
import type { PeerCertificate } from 'node:tls'

interface Outgoing {
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  /** A stream is sent as it is read. */
  readonly body: string | Readable | undefined
  /** Ends the request, and the answer until it has been read. */
  readonly signal: AbortSignal
}

export interface Incoming {
  readonly status: number
  /** By their names in lower case. */
  readonly headers: ReadonlyMap<string, string>
  /** To be read to its end, or destroyed. An error of it is nobody's as long as nobody reads it. */
  readonly body: Readable
}

/** Rejects when no answer begins: with what the system or TLS says, or with an error that `signal` caused. */
export type Transport = (url: URL, outgoing: Outgoing) => Promise<Incoming>

type RawHeaders = Readonly<Record<string, string | readonly string[] | undefined>>

export function headersOf(raw: RawHeaders): ReadonlyMap<string, string> {
  return new Map(Object.entries(raw).map(([name, value]) => [name, String(value)]))
}

/** @param certificate the only certificate (PEM) to accept, whoever issued it and whatever name it has */
export async function direct({ protocol }: URL, certificate?: string): Promise<Transport> {
  if (protocol !== 'https:') return over(requestPlain)
  // Not loaded by the many who need no TLS.
  const { Agent, globalAgent, request } = await import('node:https')
  if (certificate === undefined) return over(request)
  // It gives up an unused connection as Node.js's own agent does: before the service closes it under the next request.
  const agent = new Agent({ ...globalAgent.options, ...(await showing(certificate)) })
  return over((url, options, answered) => request(url, { ...options, agent }, answered))
}

type Request = (url: URL, options: RequestOptions, answered: (answer: IncomingMessage) => void) => ClientRequest

function over(request: Request): Transport {
  return (url, { body, ...options }) =>
    new Promise((resolve, reject) => {
      const sent = request(url, options, (answer) => {
        resolve({ status: answer.statusCode!, headers: headersOf(answer.headers), body: answer })
        // Who has answered completely wants no more of an upload.
        answer.once('close', () => {
          if (!sent.writableFinished) sent.destroy()
        })
      })
      sent.on('error', reject)
      // Without an error if the answer only switches protocols. Whoever has an answer, or an error, hears nothing of it.
      sent.once('close', () => reject(new Error('the connection was closed without an answer')))
      if (typeof body !== 'object') {
        sent.end(body)
        return
      }
      // Its own error, not that of the connection that is cut off because of it.
      body.once('error', reject)
      pipeline(body, sent, () => {})
    })
}

/** Trusts exactly this certificate, and no other that it has signed. */
export async function showing(certificate: string) {
  const { X509Certificate } = await import('node:crypto')
  const { fingerprint256: own } = new X509Certificate(certificate)
  return {
    ca: certificate,
    allowPartialTrustChain: true,
    checkServerIdentity: (_: string, { fingerprint256 }: PeerCertificate) =>
      fingerprint256 === own ? undefined : new Error('it presents a different certificate than expected'),
  }
}
