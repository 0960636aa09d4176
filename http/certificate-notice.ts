/** When the served certificate expires, and a word in the log before it does: clients then refuse the service. */
import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { CERTIFICATE_SOON_MS, RENEW_CERTIFICATE } from '../machines/certificate.ts'
import type { Logger } from '../runtime/log.ts'
import type { Platform } from '../storage/platform.ts'

const DAY_MS = 86_400_000

/**
 * Milliseconds since the epoch, of the file as it is now; Infinity without TLS. A renewed file is served from the next
 * start.
 */
export function certificateEndMs(certFile: string | undefined): number {
  if (certFile === undefined) return Number.POSITIVE_INFINITY
  return Date.parse(new X509Certificate(readFileSync(certFile)).validTo)
}

/** Looks now and each day. Returns a function that ends it. */
export function tellOfCertificate(platform: Platform, log: Pick<Logger, 'warn'>, endMs: number): () => void {
  if (endMs === Number.POSITIVE_INFINITY) return () => {}
  const look = (): void => {
    const leftMs = endMs - platform.wallMs()
    const words = leftMs > 0 ? 'the TLS certificate expires soon' : 'the TLS certificate has expired'
    if (leftMs < CERTIFICATE_SOON_MS)
      log.warn({ expires_at: new Date(endMs).toISOString() }, `${words}: ${RENEW_CERTIFICATE}`)
    timer = platform.setTimer(look, DAY_MS)
  }
  let timer: ReturnType<Platform['setTimer']>
  look()
  return () => platform.clearTimer(timer)
}
