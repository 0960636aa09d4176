/** When somebody must see to the TLS certificate of the service, and what helps. */
const DAY_MS = 86_400_000
/** A certificate that is renewed automatically is replaced earlier than this, milliseconds before its end. */
export const CERTIFICATE_SOON_MS = 14 * DAY_MS
/** So near to its end somebody must see to it today or tomorrow, milliseconds. */
export const CERTIFICATE_URGENT_MS = 3 * DAY_MS

/** A renewed file is served from the next start. */
export const RENEW_CERTIFICATE = 'renew it, and restart the service'
